// How well a request uses its devices: memory bandwidth in decode (MBU) and arithmetic in prefill (MFU).
#ifndef FORETOKEN_ESTIMATOR_METHODS_UTILISATION_H_
#define FORETOKEN_ESTIMATOR_METHODS_UTILISATION_H_

#include <optional>

#include "estimator/serving/served.h"

namespace foretoken {

// MBU of the mean decode step: weights that the running sequences read in `tpot`, and the KV of what they hold. Of a
// speculative round the reads of both models, over the tokens that it yields.
double DecodeBandwidthUtilization(const Replica& replica, const Served& served, Seconds tpot);

// MFU: FLOPs of the prefill on one device, a draft's included, over what its matrix units could do in the time that it
// takes without waiting. Nothing to prefill: nothing.
std::optional<double> PrefillUtilization(const Replica& replica, const Served& served);

}  // namespace foretoken

#endif  // FORETOKEN_ESTIMATOR_METHODS_UTILISATION_H_
