// The cost of a request at the caller's price of a device-hour.
//
//   cost of a request           = price x devices / 3600 / requests per second
//   cost of 1e6 output tokens   = price x devices / 3600 / output tokens per second x 1e6
//
// All devices are paid for all of the time, at the throughput of the estimate. [ours]
#ifndef FORETOKEN_ESTIMATOR_METHODS_COST_H_
#define FORETOKEN_ESTIMATOR_METHODS_COST_H_

#include <optional>
#include <vector>

#include "estimator/scenario/estimate.h"
#include "estimator/scenario/scenario.h"

namespace foretoken {

// Absent without a price, and under a live load, because its throughput counts only the requests of the scenario. With
// disaggregated prefill both pools need a price; if one states none, the cost is absent with a kFigureAbsent warning.
std::optional<CostEstimate> CostOf(const Scenario& scenario, const Throughput& throughput,
                                   std::vector<Warning>& warnings);

}  // namespace foretoken

#endif  // FORETOKEN_ESTIMATOR_METHODS_COST_H_
