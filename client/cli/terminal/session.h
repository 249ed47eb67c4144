// What every command gets: the client, the output format, the terminal and the streams.
//
// Start of the room terminal/: exit codes, interrupts, progress bar and colours. It includes the client library and no
// other room of the command line. The rooms and their order stand in client/cli/app.h.
#ifndef FORETOKEN_CLIENT_CLI_TERMINAL_SESSION_H_
#define FORETOKEN_CLIENT_CLI_TERMINAL_SESSION_H_

#include <functional>
#include <istream>
#include <ostream>
#include <string_view>

#include "absl/status/statusor.h"
#include "client/cli/terminal/exit_code.h"
#include "client/cli/terminal/terminal.h"
#include "client/client.h"

namespace foretoken::cli {

enum class OutputFormat { kText, kJson, kCsv };

struct Session {
  const client::Client& client;
  OutputFormat output = OutputFormat::kText;
  Terminal terminal;
  std::istream& in;
  std::ostream& out;
  std::ostream& err;
};

// INVALID_ARGUMENT if CSV is requested for an answer that is not a table; `what` names the answer: "an entry". Commands
// check this before the call, because the call may write.
absl::Status CheckNotCsv(const Session& session, std::string_view what);

// A parsed command, ready to run. It returns its exit code; the caller prints its errors.
using Action = std::function<absl::StatusOr<ExitCode>(const Session&)>;

}  // namespace foretoken::cli

#endif  // FORETOKEN_CLIENT_CLI_TERMINAL_SESSION_H_
