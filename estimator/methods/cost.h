// What a request costs at the caller's price of a device-hour.
//
//   cost of a request           = price x devices / 3600 / requests per second
//   cost of 1e6 output tokens   = price x devices / 3600 / output tokens per second x 1e6
//
// Every device is paid for all the time, at the throughput of the estimate. [ours]
#ifndef FORETOKEN_ESTIMATOR_METHODS_COST_H_
#define FORETOKEN_ESTIMATOR_METHODS_COST_H_

#include <optional>
#include <vector>

#include "estimator/scenario/estimate.h"
#include "estimator/scenario/scenario.h"

namespace foretoken {

// Nothing without a price, or under a live load, whose throughput is of the requests asked about alone. With
// disaggregated prefill both sides have to state one; where one does not, nothing with a kFigureAbsent warning.
std::optional<CostEstimate> CostOf(const Scenario& scenario, const Throughput& throughput,
                                   std::vector<Warning>& warnings);

}  // namespace foretoken

#endif  // FORETOKEN_ESTIMATOR_METHODS_COST_H_
