#include "client/cli/text/evidence_note.h"

#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "client/cli/text/estimate_text.h"

namespace foretoken::cli {
namespace {

// "vllm-0.7.3" of "amd-mi300x-192gb.vllm-0.7.3.llama-3.1-8b": a calibration's id without its hardware and its model.
std::string EngineOf(const RankedRow& row, const std::string& model_id) {
  absl::string_view id = row.estimate.calibration_id();
  id = absl::StripPrefix(id, row.hardware_id + ".");
  return std::string(absl::StripSuffix(id, "." + model_id));
}

// Adds "provenance CALIBRATED, DATASHEET" if there are several names.
void AddUnlike(const std::set<std::string>& names, const char* what, std::vector<std::string>& unlike) {
  if (names.size() > 1) unlike.push_back(absl::StrCat(what, " ", absl::StrJoin(names, ", ")));
}

}  // namespace

std::string EvidenceNote(const std::vector<RankedRow>& rows, const std::string& model_id, const Terminal& terminal) {
  std::set<std::string> provenances;
  std::set<std::string> engines;
  for (const RankedRow& row : rows) {
    const std::string provenance = ProvenanceText(row.estimate);
    provenances.insert(provenance.empty() ? "unknown" : provenance);
    engines.insert(row.estimate.calibration_id().empty() ? "none" : EngineOf(row, model_id));
  }
  std::vector<std::string> unlike;
  AddUnlike(provenances, "provenance", unlike);
  AddUnlike(engines, "calibration", unlike);
  if (unlike.empty()) return "";
  return absl::StrCat(terminal.Paint("note", Look::kWarn), ": the rows rest on different evidence (",
                      absl::StrJoin(unlike, "; "), "): their order is predicted, not measured\n");
}

std::string EngineWarnings(const std::vector<RankedRow>& rows, const Terminal& terminal) {
  std::string text;
  std::set<std::string> seen;
  for (const RankedRow& row : rows) {
    for (const v1::Warning& warning : row.estimate.warnings()) {
      if (!absl::EndsWith(warning.field(), "deployment.engine")) continue;
      const std::string line = WarningLine(warning, terminal);
      if (seen.insert(line).second) text += line;
    }
  }
  return text;
}

}  // namespace foretoken::cli
