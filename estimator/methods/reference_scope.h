// What the two source methods, linear profile and KPI, have in common: one static batch, nothing else running.
#ifndef FORETOKEN_ESTIMATOR_METHODS_REFERENCE_SCOPE_H_
#define FORETOKEN_ESTIMATOR_METHODS_REFERENCE_SCOPE_H_

#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "estimator/scenario/estimate.h"
#include "estimator/scenario/scenario.h"

namespace foretoken {

// Refuses, as kNotModelled with the field, what neither method describes and what would change its answer: a live
// load, an arrival rate, batching other than static, output lengths that differ, speculative decoding, disaggregated
// prefill, naive attention; and, as kUnsupportedModel, a model that the catalog lists as such. `method` names the
// method in the message.
absl::Status CheckSeedScope(const Scenario& scenario, const char* method);

// Warns kNotUsed of parts that the methods have no place for and that leave their answer standing.
void WarnNotUsed(const Scenario& scenario, const char* method, std::vector<Warning>& warnings);

// Rates of one static batch after the other: B O / E2E, B / E2E, 1 / TPOT.
Throughput StaticThroughput(const Scenario& scenario, Seconds tpot, Seconds e2e);

// Weights, activations and KV cache of one device, and what fits (capacity.h).
// Absent, with a kFigureAbsent warning, where the hardware states no capacity. Errors: kOutOfMemory.
absl::StatusOr<std::optional<MemoryUse>> SeedMemory(const Scenario& scenario, std::vector<Warning>& warnings);

}  // namespace foretoken

#endif  // FORETOKEN_ESTIMATOR_METHODS_REFERENCE_SCOPE_H_
