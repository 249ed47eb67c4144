// Which server the command line calls, how, and as whom: flags, else the environment, else the default.
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
  // What no flag gave, from the environment.
  void Complete(const GetEnv& getenv);

  // "10.0.0.1:50051, over TLS"
  std::string Describe() const;

  // Errors: INVALID_ARGUMENT: a file cannot be read or only makes sense with another.
  absl::StatusOr<std::shared_ptr<grpc::ChannelInterface>> Dial() const;
  // What opens the catalog to writes; empty: no file is named. Errors: INVALID_ARGUMENT: the file cannot be read, or
  // the token would travel in plain text to another machine.
  absl::StatusOr<std::string> Token() const;
  // Why a write went without one, or with a wrong one.
  std::string TokenAdvice() const;
  // With the token, where it may be sent. Errors: INVALID_ARGUMENT: the time is none, or a flag names the file of a
  // token that may not be.
  absl::StatusOr<client::ClientOptions> Options(const GetEnv& getenv) const;
};

}  // namespace foretoken::cli

#endif  // FORETOKEN_CLIENT_CLI_COMMANDS_CONNECTION_H_
