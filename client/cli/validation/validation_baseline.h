// Compares a validation report with an earlier one: what a new catalog revision or server improved or worsened.
#ifndef FORETOKEN_CLIENT_CLI_VALIDATION_VALIDATION_BASELINE_H_
#define FORETOKEN_CLIENT_CLI_VALIDATION_VALIDATION_BASELINE_H_

#include <istream>
#include <map>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "client/cli/validation/validation_report.h"

namespace foretoken::cli {

// Median errors of an earlier report, by group and metric ("TTFT").
using Baseline = std::map<std::pair<GroupKey, std::string>, double>;

// Reads what `foretoken validate --output csv` printed.
// Errors: INVALID_ARGUMENT: a column is missing, or a median is no number, with file and line.
absl::StatusOr<Baseline> ReadBaseline(const std::string& file, std::istream& in);

// Mean of the medians before and after over the groups in both reports, and the groups that changed by more than one
// percentage point, largest change first.
std::string ComparisonText(const Baseline& before, const ValidationReport& after, const Terminal& terminal);

}  // namespace foretoken::cli

#endif  // FORETOKEN_CLIENT_CLI_VALIDATION_VALIDATION_BASELINE_H_
