// Joins the parts of a scenario that a reader has read: dtypes that follow from the model, the calibration that
// applies, and what a draft model and a prefill pool take from the rest. Refuses parts that contradict each other.
#ifndef FORETOKEN_SERVER_RPC_ESTIMATE_SCENARIO_RESOLVER_H_
#define FORETOKEN_SERVER_RPC_ESTIMATE_SCENARIO_RESOLVER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "estimator/base/errors.h"
#include "estimator/methods/step_model_cache.h"
#include "estimator/scenario/scenario.h"
#include "server/catalog/entries/snapshot.h"
#include "server/rpc/estimate/scenario_reader.h"

namespace foretoken::rpc {

// Not thread-safe. The reader and the snapshot outlive it.
class ScenarioResolver {
 public:
  ScenarioResolver(ScenarioReader& reader, const catalog::Snapshot& snapshot) : reader_(reader), snapshot_(snapshot) {}

  // The scenario, every field valid and every default resolved. Good until the reader reads again.
  //
  // Errors: those of ScenarioReader::Errors; kInvalidField: parts that contradict each other, and an engine that nobody
  // knows: neither the catalog nor, of the scenario's own engine, the hardware that the request spells out.
  absl::StatusOr<const Scenario*> Resolve();

  // What Resolve last succeeded with.
  const Scenario& resolved() const { return reader_.parts().scenario; }

  // Counts the models, hardware and deployments that were resolved: what was derived from them is good until the number
  // changes.
  int64_t machine() const { return machine_; }
  // Where step models of the resolved machine are kept; null: its model or hardware is spelled out in the request.
  const StepModelCache* step_models() const;

 private:
  void ResolveMachine();
  void ResolveCalibration();
  void ResolveSecondary();
  // INVALID_ARGUMENT naming every engine that is not known.
  absl::Status CheckEngines() const;
  void CheckEngine(const std::string& engine, Part part, const char* field,
                   std::vector<FieldViolation>& violations) const;
  std::vector<FieldViolation> Contradictions() const;
  void AddDraftContradictions(std::vector<FieldViolation>& violations) const;
  void AddPoolContradictions(std::vector<FieldViolation>& violations) const;

  ScenarioReader& reader_;
  const catalog::Snapshot& snapshot_;
  int64_t resolved_reads_ = 0;        // of the reader, at the last Resolve
  int64_t machine_ = 0;               // machine_reads() of the reader, at the last Resolve
  bool calibrated_for_load_ = false;  // what the scenario's calibration was looked up for
};

}  // namespace foretoken::rpc

#endif  // FORETOKEN_SERVER_RPC_ESTIMATE_SCENARIO_RESOLVER_H_
