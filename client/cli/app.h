// The command line `foretoken`: parse the arguments, connect to a server, run one command.
//
// Start reading here, then a command such as commands/estimate_command.cc. The rooms of the command line, each of which
// may include the client library and the rooms before it:
//   terminal     exit codes, interrupts, progress, colours
//   text         numbers, tables, CSV, JSON, texts of messages
//   scenario     flags and files to messages
//   huggingface  config.json to a model
//   validation   measurements, predictions, errors
//   import       benchmark files of other tools
//   profile      an inference server driven and measured
//   entries      what commands that read and write the catalog share
//   commands     one file per command
#ifndef FORETOKEN_CLIENT_CLI_APP_H_
#define FORETOKEN_CLIENT_CLI_APP_H_

#include <istream>
#include <ostream>
#include <string>
#include <vector>

#include "client/cli/terminal/terminal.h"

namespace foretoken::cli {

// Runs `arguments` (without the program's name) and returns the exit code (client/cli/terminal/exit_code.h).
int RunForetoken(const std::vector<std::string>& arguments, std::istream& in, std::ostream& out, std::ostream& err,
                 const GetEnv& getenv);

}  // namespace foretoken::cli

#endif  // FORETOKEN_CLIENT_CLI_APP_H_
