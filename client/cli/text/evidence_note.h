// A note below a ranking whose rows rest on different evidence.
#ifndef FORETOKEN_CLIENT_CLI_TEXT_EVIDENCE_NOTE_H_
#define FORETOKEN_CLIENT_CLI_TEXT_EVIDENCE_NOTE_H_

#include <string>
#include <vector>

#include "client/cli/terminal/terminal.h"
#include "foretoken/v1/estimate.pb.h"

namespace foretoken::cli {

// A row of a ranking. REQUIRES: the estimate outlives it.
struct RankedRow {
  std::string hardware_id;
  const v1::Estimate& estimate;
};

// The note, if rows differ in provenance or in the engine or engine version of their calibration; else empty.
std::string EvidenceNote(const std::vector<RankedRow>& rows, const std::string& model_id, const Terminal& terminal);

// What stood in for the engine that was asked for: each different warning of the rows about an engine, a line each. A
// table has no room for the warnings of its rows.
std::string EngineWarnings(const std::vector<RankedRow>& rows, const Terminal& terminal);

}  // namespace foretoken::cli

#endif  // FORETOKEN_CLIENT_CLI_TEXT_EVIDENCE_NOTE_H_
