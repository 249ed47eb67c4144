// The CPU time that one call may spend on estimates: what would pass it is refused before the first of them.
#ifndef FORETOKEN_SERVER_RPC_ESTIMATE_CPU_BUDGET_H_
#define FORETOKEN_SERVER_RPC_ESTIMATE_CPU_BUDGET_H_

#include <algorithm>
#include <string_view>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "estimator/base/units.h"
#include "estimator/scenario/scenario.h"
#include "foretoken/v1/scenario.pb.h"

namespace foretoken::rpc {

// Ten million estimates of 20 us each: the largest sweep by default, at an ordinary cost.
inline constexpr absl::Duration kDefaultCpuPerCall = absl::Seconds(200);

// To read a point or a candidate, and to write its figures.
inline constexpr Seconds kCpuTimeOfReading(4e-6);

// The steps of simulations that an estimate of this SLO may take.
inline double SimulatedSteps(const v1::Slo& slo) { return std::clamp(slo.simulated_steps(), 0, kMostSimulatedSteps); }

// Refuses `count` estimates that take more than `budget`, about `field`. `each` gives the mean CPU time of one; it is
// asked only where the dearest estimates would pass the budget, each with `steps` simulated steps. Errors:
// kLimitExceeded, naming the budget and its flag.
absl::Status CheckCpu(std::string_view field, double count, double steps, std::string_view what, absl::Duration budget,
                      absl::FunctionRef<Seconds()> each);

// The CPU time of an estimate with its reading; null: what could not be resolved, and is refused without an estimate.
Seconds CpuTimeWithReading(const Scenario* scenario);

}  // namespace foretoken::rpc

#endif  // FORETOKEN_SERVER_RPC_ESTIMATE_CPU_BUDGET_H_
