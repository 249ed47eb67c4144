// An estimate as text, and as a row of CSV.
//
// Start of the room text/: numbers, tables, CSV, JSON and the texts of the API's messages. It includes terminal/ and
// the client library.
#ifndef FORETOKEN_CLIENT_CLI_TEXT_ESTIMATE_TEXT_H_
#define FORETOKEN_CLIENT_CLI_TEXT_ESTIMATE_TEXT_H_

#include <string>
#include <string_view>
#include <vector>

#include "client/cli/terminal/terminal.h"
#include "client/cli/text/table.h"
#include "foretoken/v1/estimate.pb.h"
#include "foretoken/v1/scenario.pb.h"
#include "google/protobuf/timestamp.pb.h"

namespace foretoken::cli {

// "llama-3.1-70b on nvidia-h100-sxm-80gb, tp 4, fp8" and, on a second line, the workload.
std::string ScenarioTitle(const v1::Scenario& scenario, const Terminal& terminal);

// The name of the model and of the hardware; for an inline spec its id, or "inline model" and "inline hardware".
std::string ModelName(const v1::Scenario& scenario);
std::string HardwareName(const v1::Scenario& scenario);

// Everything except operators and token latencies: times, waterfall of each phase, memory, SLO, warnings.
std::string EstimateText(const v1::Estimate& estimate, const Terminal& terminal);

// "warning: MESSAGE (FIELD)" and a line break.
std::string WarningLine(const v1::Warning& warning, const Terminal& terminal);

// Parts of it, empty where the estimate has none: speculative decoding and disaggregated serving; energy and cost.
std::string SecondaryText(const v1::Estimate& estimate, const Terminal& terminal);
std::string SpendText(const v1::Estimate& estimate, const Terminal& terminal);

// The fields that no other text shows, each by its path in foretoken.v1.Estimate; empty if there are none.
std::string OtherFieldsText(const v1::Estimate& estimate, const Terminal& terminal);
// The fields at `paths` that are present. REQUIRES: the paths exist.
std::string PathsText(const v1::Estimate& estimate, const std::vector<std::string>& paths, const Terminal& terminal);

// What the memory of a device holds, and what fits.
std::string MemoryText(const std::string& title, const v1::MemoryUse& memory, const Terminal& terminal);

// One line: method, provenance, calibration and its age, catalog revision.
std::string Footer(const v1::Estimate& estimate, const v1::CatalogRevision& revision, const Terminal& terminal);
// "2026-01-31T12:00:00Z".
std::string TimeText(const google::protobuf::Timestamp& time);
std::string RevisionText(const v1::CatalogRevision& revision);

// "CALIBRATED"; "CALIBRATED/TRANSFERRED" if prefill and decode differ; empty if both are unspecified.
std::string ProvenanceText(const v1::Estimate& estimate);

// FEASIBLE, INFEASIBLE, MARGINAL or UNKNOWN in its colour; "-" without an SLO.
Cell VerdictCell(const v1::Estimate& estimate);

// Whether an SLO is missed, or by the error band may be.
bool MissesSlo(const v1::Estimate& estimate);

// Seconds of a time; NaN if it is absent.
double SecondsOf(bool present, const v1::TimeEstimate& time);

// The columns of CSV, in a fixed order, and the cells of one estimate: exact values, empty where not known. All cells
// are empty without an estimate (null).
std::vector<std::string> EstimateColumnNames();
std::vector<std::string> EstimateCells(const v1::Estimate* estimate);

// The paths of an estimate's fields, lists apart, that are not among the `named` ones.
std::vector<std::string> PathsWithoutColumn(const std::vector<std::string_view>& named);

}  // namespace foretoken::cli

#endif  // FORETOKEN_CLIENT_CLI_TEXT_ESTIMATE_TEXT_H_
