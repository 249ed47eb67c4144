// What a command works with, and what it is.
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

// OK, or INVALID_ARGUMENT where CSV is asked for and the answer is no table. `what` is the answer: "an entry". Asked
// before the call, which may write.
absl::Status CheckNotCsv(const Session& session, std::string_view what);

// A command that was parsed and is ready to run. Its answer is the exit code; its errors are printed by the caller.
using Action = std::function<absl::StatusOr<ExitCode>(const Session&)>;

}  // namespace foretoken::cli

#endif  // FORETOKEN_CLIENT_CLI_TERMINAL_SESSION_H_
