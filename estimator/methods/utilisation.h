// How well a request uses its devices: memory bandwidth in decode (MBU) and arithmetic in prefill (MFU).
#ifndef FORETOKEN_ESTIMATOR_METHODS_UTILISATION_H_
#define FORETOKEN_ESTIMATOR_METHODS_UTILISATION_H_

#include <optional>

#include "estimator/serving/served.h"

namespace foretoken {

// MBU of the mean decode step: the weights and the KV cache that the running batch reads in `tpot`, over the peak. A
// speculative step counts the reads of both models, divided by the tokens that it yields.
double DecodeBandwidthUtilization(const Replica& replica, const Served& served, Seconds tpot);

// MFU of the prefill: its FLOPs on one device, a draft model's included, over the FLOPs that the matrix units can do in
// the time of the prefill without waiting. Absent if there is nothing to prefill.
std::optional<double> PrefillUtilization(const Replica& replica, const Served& served);

}  // namespace foretoken

#endif  // FORETOKEN_ESTIMATOR_METHODS_UTILISATION_H_
