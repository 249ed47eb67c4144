// The server to call, TLS, token and author: from flags, else from the environment, else defaults.
#ifndef FORETOKEN_CLIENT_CLI_COMMANDS_CONNECTION_H_
#define FORETOKEN_CLIENT_CLI_COMMANDS_CONNECTION_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "client/cli/terminal/terminal.h"
#include "client/client.h"

namespace CLI {
class App;
}

namespace foretoken::cli {

struct Connection {
  std::string server;
  std::string timeout;
  client::TlsFiles tls;
  std::string token_file;
  bool token_from_environment = false;

  void AddTo(CLI::App& app);
  // Fills what no flag set, from the environment.
  void Complete(const GetEnv& getenv);

  // "10.0.0.1:50051, over TLS"
  std::string Describe() const;

  // Errors: INVALID_ARGUMENT: a file cannot be read, or another file is missing beside it.
  absl::StatusOr<std::shared_ptr<grpc::ChannelInterface>> Dial() const;
  // The token for writes to the catalog; empty: no file is named. Errors: INVALID_ARGUMENT: the file cannot be read, or
  // the token would be sent in plain text to another machine.
  absl::StatusOr<std::string> Token() const;
  // For a denied write: where its token came from, or why none was sent.
  std::string TokenAdvice() const;
  // Includes the token if it may be sent. Errors: INVALID_ARGUMENT: --timeout is not a time, or the token of
  // --token-file may not be sent.
  absl::StatusOr<client::ClientOptions> Options(const GetEnv& getenv) const;
};

}  // namespace foretoken::cli

#endif  // FORETOKEN_CLIENT_CLI_COMMANDS_CONNECTION_H_
