#include "server/rpc/estimate/scenario_estimator.h"

namespace foretoken::rpc {

absl::StatusOr<const Scenario*> ScenarioEstimator::scenario() {
  absl::StatusOr<const Scenario*> scenario = resolver_.Resolve();
  if (scenario.ok() && derived_machine_ != resolver_.machine()) {
    derived_.Forget(resolver_.step_models());
    derived_machine_ = resolver_.machine();
  }
  return scenario;
}

absl::Status ScenarioEstimator::Estimate(const Detail& detail, foretoken::Estimate& estimate) {
  const absl::StatusOr<const Scenario*> read = scenario();
  if (!read.ok()) return read.status();
  const absl::Status status = ComputeEstimate(**read, detail, derived_, estimate);
  return status.ok() ? status : reader_.WithPrefix(status);
}

void ScenarioEstimator::MakeRow(std::optional<OutputRow>& row) {
  row.reset();
  const absl::StatusOr<const Scenario*> read = scenario();
  if (read.ok()) OutputRow::Make(**read, derived_, row);
}

}  // namespace foretoken::rpc
