// What the two reference methods, linear profile and KPI, have in common: both describe one static batch.
#ifndef FORETOKEN_ESTIMATOR_METHODS_REFERENCE_SCOPE_H_
#define FORETOKEN_ESTIMATOR_METHODS_REFERENCE_SCOPE_H_

#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "estimator/scenario/estimate.h"
#include "estimator/scenario/scenario.h"
#include "estimator/serving/coverage.h"

namespace foretoken {

// Refuses what the method does not describe although it would change the answer (estimator/serving/coverage.h), and a model that the
// catalog marks as unsupported. Errors: kNotModelled; kUnsupportedModel.
absl::Status CheckReferenceScope(const Scenario& scenario, Scope method);

// Rates of static batches that run one after the other: batch OSL / E2E, batch / E2E, 1 / TPOT.
Throughput StaticThroughput(const Scenario& scenario, Seconds tpot, Seconds e2e);

// Weights, activations and KV cache of one device, and the largest batch that fits (capacity.h).
// Absent, with a kFigureAbsent warning, where the hardware states no capacity. Errors: kOutOfMemory.
absl::StatusOr<std::optional<MemoryUse>> ReferenceMemory(const Scenario& scenario, std::vector<Warning>& warnings);

}  // namespace foretoken

#endif  // FORETOKEN_ESTIMATOR_METHODS_REFERENCE_SCOPE_H_
