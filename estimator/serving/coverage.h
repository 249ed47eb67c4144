// Which features of a scenario each method and batching policy covers. Every part of the core model that refuses a
// scenario, or warns that it ignores a part of it, asks this one table; docs/model/coverage.md prints it.
//
//   if (absl::Status covered = CheckCovered(scenario, Scope::kKpi); !covered.ok()) return covered;
//   WarnOfIgnored(scenario, Scope::kKpi, FeatureGroup::kInputs, warnings);
//
// A new feature is a value of Feature and a row in coverage_rows.h; without the row the project does not compile.
// Leaves out: fields that a method requires (kInvalidField) and specs that hardware lacks (kMissingFigure).
#ifndef FORETOKEN_ESTIMATOR_SERVING_COVERAGE_H_
#define FORETOKEN_ESTIMATOR_SERVING_COVERAGE_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "estimator/scenario/estimate.h"
#include "estimator/scenario/scenario.h"

namespace foretoken {

// Who answers: a column of the table. The first seven are the batching policies of the operator model.
enum class Scope {
  kStatic,
  kDynamic,
  kClosedLoop,
  kOpenLoop,
  kLiveLoad,
  kDisaggregatedBatches,
  kDisaggregatedContinuous,
  kSpeedOfLight,  // at any of these policies
  kOutputRow,     // many output lengths at once (output_row.h)
  kLinearProfile,
  kKpi,
  kEnd,
};

// What a scenario may state: a row of the table (coverage_rows.h). Where several are refused, the first in this order
// is reported.
enum class Feature : int;

enum class Coverage {
  kModelled,
  kRefused,          // NOT_MODELLED
  kIgnored,          // the warning NOT_USED
  kUnused,           // changes nothing of the times, without a warning
  kAsOperatorModel,  // as under the scenario's batching policy
  kElsewhere,        // does not occur, or another feature of the scenario decides
};

// Warnings of one group follow each other in a reply.
enum class FeatureGroup {
  kLimits,       // of the engine, in a live load
  kInputs,       // stated parts of a scenario
  kAssumptions,  // what a formula takes for granted of the model and its KV cache
};

// A cell of the table.
struct CoverageCell {
  Coverage coverage = Coverage::kModelled;
  std::string field;    // the path that a refusal or warning names; empty otherwise
  std::string message;  // of the refusal or warning; "..." stands for the requested number. Empty otherwise
};
CoverageCell CellOf(Feature feature, Scope scope);

// As the documentation names them: "output lengths that differ", "closed loop".
std::string_view NameOf(Feature feature);
std::string_view NameOf(Scope scope);

// Whether the scenario states the feature.
bool States(const Scenario& scenario, Feature feature);

// Whether requests join a batch that runs now. Under continuous batching, a load that states only the engine's limits
// belongs to the steady state.
bool MeetsLiveLoad(const Scenario& scenario);

// The batching policy by which the operator model serves the scenario.
Scope PolicyOf(const Scenario& scenario);

// Refuses the first feature that `scope` does not cover. Errors: kNotModelled.
absl::Status CheckCovered(const Scenario& scenario, Scope scope);

// The same as a question.
bool Covers(const Scenario& scenario, Scope scope);

// Warns kNotUsed of every stated feature of the group that `scope` ignores.
void WarnOfIgnored(const Scenario& scenario, Scope scope, FeatureGroup group, std::vector<Warning>& warnings);

}  // namespace foretoken

#endif  // FORETOKEN_ESTIMATOR_SERVING_COVERAGE_H_
