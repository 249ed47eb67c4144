// An estimate as a person reads it, and as a row of CSV.
#ifndef FORETOKEN_CLIENT_CLI_TEXT_ESTIMATE_TEXT_H_
#define FORETOKEN_CLIENT_CLI_TEXT_ESTIMATE_TEXT_H_

#include <string>
#include <utility>
#include <vector>

#include "client/cli/terminal/terminal.h"
#include "client/cli/text/table.h"
#include "foretoken/v1/estimate.pb.h"
#include "foretoken/v1/scenario.pb.h"
#include "google/protobuf/timestamp.pb.h"

namespace foretoken::cli {

// "llama-3.1-70b on nvidia-h100-sxm-80gb, tp 4, fp8" and, on a second line, the workload.
std::string ScenarioTitle(const v1::Scenario& scenario, const Terminal& terminal);

// The model's and the hardware's name, of an inline spec its id or "inline".
std::string ModelName(const v1::Scenario& scenario);
std::string HardwareName(const v1::Scenario& scenario);

// Everything but the operators: headline, waterfall of each phase, memory, verdict, warnings.
std::string EstimateText(const v1::Estimate& estimate, const Terminal& terminal);

// Two parts of it: speculative decoding and disaggregated serving; energy and cost. Empty where the estimate has none.
std::string SidesText(const v1::Estimate& estimate, const Terminal& terminal);
std::string SpendText(const v1::Estimate& estimate, const Terminal& terminal);

// One line: method, provenance, calibration and its age, catalog revision.
std::string Footer(const v1::Estimate& estimate, const v1::CatalogRevision& revision, const Terminal& terminal);
// "2026-01-31T12:00:00Z".
std::string TimeText(const google::protobuf::Timestamp& time);
std::string RevisionText(const v1::CatalogRevision& revision);

// "CALIBRATED"; both phases where they differ: "CALIBRATED/TRANSFERRED"; empty where neither is stated.
std::string ProvenanceText(const v1::Estimate& estimate);

// FEASIBLE, INFEASIBLE or UNKNOWN in its colour; "-" without an SLO.
Cell VerdictCell(const v1::Estimate& estimate);

// Seconds of a time; NaN where it is absent.
double SecondsOf(bool present, const v1::TimeEstimate& time);

// Names and exact values of the figures, in a fixed order; empty: not known.
std::vector<std::pair<std::string, std::string>> EstimateColumns(const v1::Estimate& estimate);

}  // namespace foretoken::cli

#endif  // FORETOKEN_CLIENT_CLI_TEXT_ESTIMATE_TEXT_H_
