// The commands. Each function adds a command to the command line. If the user requests that command, it sets `chosen`
// to the action to run.
//
// Start of the room commands/: one file per command. It includes all other rooms.
#ifndef FORETOKEN_CLIENT_CLI_COMMANDS_COMMANDS_H_
#define FORETOKEN_CLIENT_CLI_COMMANDS_COMMANDS_H_

#include "client/cli/terminal/session.h"

namespace CLI {
class App;
}

namespace foretoken::cli {

void AddEstimate(CLI::App& app, Action& chosen);          // one scenario
void AddExplain(CLI::App& app, Action& chosen);           // its operators, formula by formula
void AddCompare(CLI::App& app, Action& chosen);           // one scenario on several hardware, ranked
void AddSweep(CLI::App& app, Action& chosen);             // a grid
void AddSolve(CLI::App& app, Action& chosen);             // the largest batch, highest rate, ... that meets an SLO
void AddSimulate(CLI::App& app, Action& chosen);          // percentiles of a simulated engine
void AddValidate(CLI::App& app, Action& chosen);          // predictions against measurements
void AddProfile(CLI::App& app, Action& chosen);           // measures an inference server
void AddImport(CLI::App& app, Action& chosen);            // benchmark files of other tools as measurements
void AddList(CLI::App& app, Action& chosen);              // the catalog
void AddGet(CLI::App& app, Action& chosen);               // one entry
void AddRegisterHardware(CLI::App& app, Action& chosen);  // writes
void AddRegisterModel(CLI::App& app, Action& chosen);
void AddFit(CLI::App& app, Action& chosen);  // fits the core model to measurements
void AddDelete(CLI::App& app, Action& chosen);
void AddRevisions(CLI::App& app, Action& chosen);      // an entry's history
void AddRollback(CLI::App& app, Action& chosen);       // restores an earlier revision
void AddCatalogStatus(CLI::App& app, Action& chosen);  // whether the catalog is up to date with its store
void AddHealth(CLI::App& app, Action& chosen);         // whether the server serves
void AddCompletion(CLI::App& app, Action& chosen);     // shell completion

}  // namespace foretoken::cli

#endif  // FORETOKEN_CLIENT_CLI_COMMANDS_COMMANDS_H_
