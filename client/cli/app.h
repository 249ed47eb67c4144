// The command line `foretoken`: parse, connect, run one command.
#ifndef FORETOKEN_CLIENT_CLI_APP_H_
#define FORETOKEN_CLIENT_CLI_APP_H_

#include <istream>
#include <ostream>
#include <string>
#include <vector>

#include "client/cli/terminal/terminal.h"

namespace foretoken::cli {

// Runs `arguments` (without the program's name) and answers the exit code (client/cli/terminal/exit_code.h).
int RunForetoken(const std::vector<std::string>& arguments, std::istream& in, std::ostream& out, std::ostream& err,
                 const GetEnv& getenv);

}  // namespace foretoken::cli

#endif  // FORETOKEN_CLIENT_CLI_APP_H_
