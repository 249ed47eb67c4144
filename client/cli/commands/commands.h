// The commands. Each adds itself to the command line and, when it is the one that was asked for, leaves in `chosen`
// what to run.
#ifndef FORETOKEN_CLIENT_CLI_COMMANDS_COMMANDS_H_
#define FORETOKEN_CLIENT_CLI_COMMANDS_COMMANDS_H_

#include "client/cli/terminal/session.h"

namespace CLI {
class App;
}

namespace foretoken::cli {

void AddEstimate(CLI::App& app, Action& chosen);          // one scenario
void AddExplain(CLI::App& app, Action& chosen);           // its operators, formula by formula
void AddCompare(CLI::App& app, Action& chosen);           // several hardware, ranked
void AddSweep(CLI::App& app, Action& chosen);             // a grid
void AddSolve(CLI::App& app, Action& chosen);             // the inverse questions
void AddValidate(CLI::App& app, Action& chosen);          // against measurements
void AddList(CLI::App& app, Action& chosen);              // the catalog
void AddGet(CLI::App& app, Action& chosen);               // one entry
void AddRegisterHardware(CLI::App& app, Action& chosen);  // writes
void AddRegisterModel(CLI::App& app, Action& chosen);
void AddFit(CLI::App& app, Action& chosen);  // the core model to measurements
void AddDelete(CLI::App& app, Action& chosen);
void AddRevisions(CLI::App& app, Action& chosen);      // an entry's history
void AddRollback(CLI::App& app, Action& chosen);       // undo a write
void AddCatalogStatus(CLI::App& app, Action& chosen);  // how the catalog stands with its store
void AddHealth(CLI::App& app, Action& chosen);         // is it serving
void AddCompletion(CLI::App& app, Action& chosen);     // shell completion

}  // namespace foretoken::cli

#endif  // FORETOKEN_CLIENT_CLI_COMMANDS_COMMANDS_H_
