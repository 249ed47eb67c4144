// What a ranking of hardware rests on, where models and hardware may be named by aliases.
#ifndef FORETOKEN_CLIENT_CLI_COMMANDS_EVIDENCE_H_
#define FORETOKEN_CLIENT_CLI_COMMANDS_EVIDENCE_H_

#include <string>
#include <vector>

#include "client/cli/terminal/session.h"
#include "client/cli/text/evidence_note.h"

namespace foretoken::cli {

// EvidenceNote of rows and a model as they were asked for. The server is asked for their ids, with which calibrations
// are called, where there is something to note.
std::string NoteOfEvidence(std::vector<RankedRow> rows, const std::string& model, const Session& session);

}  // namespace foretoken::cli

#endif  // FORETOKEN_CLIENT_CLI_COMMANDS_EVIDENCE_H_
