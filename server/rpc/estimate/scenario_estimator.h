// The estimates of the scenarios that a reader reads one after another. What consecutive scenarios share is derived
// once.
//
//   ScenarioReader reader(snapshot, now);
//   ScenarioEstimator estimator(reader, snapshot);
//   reader.ReadAll(request.base(), "base.");
//   estimator.Estimate(Detail(), estimate);
//   reader.ReadWorkload(candidate.workload(), "candidates[0].");
//   estimator.Estimate(Detail(), estimate);
#ifndef FORETOKEN_SERVER_RPC_ESTIMATE_SCENARIO_ESTIMATOR_H_
#define FORETOKEN_SERVER_RPC_ESTIMATE_SCENARIO_ESTIMATOR_H_

#include <cstdint>
#include <optional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "estimator/methods/estimator.h"
#include "estimator/methods/output_row.h"
#include "estimator/methods/step_model_cache.h"
#include "estimator/scenario/estimate.h"
#include "server/catalog/entries/snapshot.h"
#include "server/rpc/estimate/scenario_reader.h"
#include "server/rpc/estimate/scenario_resolver.h"

namespace foretoken::rpc {

// Not thread-safe. The reader and the snapshot outlive it.
class ScenarioEstimator {
 public:
  ScenarioEstimator(ScenarioReader& reader, const catalog::Snapshot& snapshot)
      : reader_(reader), resolver_(reader, snapshot) {}

  // What was read, resolved. Errors: those of ScenarioResolver::Resolve.
  absl::StatusOr<const Scenario*> scenario();

  // Estimates what was read into `estimate`, whatever it held.
  //
  // Errors: those of scenario(); those of ComputeEstimate, with full paths.
  absl::Status Estimate(const Detail& detail, foretoken::Estimate& estimate);

  // Makes `row` what was read as a row of output lengths; nothing where it cannot be one. Valid until the next read.
  void MakeRow(std::optional<OutputRow>& row);

  const ScenarioReader& reader() const { return reader_; }
  // What the last Estimate was of.
  const Scenario& resolved() const { return resolver_.resolved(); }

 private:
  ScenarioReader& reader_;
  ScenarioResolver resolver_;
  StepModelMemo derived_;
  int64_t derived_machine_ = 0;  // what derived_ was derived from, as resolver_.machine() counts
};

}  // namespace foretoken::rpc

#endif  // FORETOKEN_SERVER_RPC_ESTIMATE_SCENARIO_ESTIMATOR_H_
