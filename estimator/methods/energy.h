// The energy that the devices draw while they serve a request.
//
//   power  = P_idle + (P_tdp - P_idle) u                     of one device
//   u      = larger of the compute and the memory part of a phase over its time
//   energy = devices (P_idle t + (P_tdp - P_idle) u t) / n   summed over phases of t seconds that n requests share
//
// Power is taken as linear between two stated specs; real power also depends on what is computed. Leaves out: the time
// in which a request waits, and devices that idle between requests. [ours]
#ifndef FORETOKEN_ESTIMATOR_METHODS_ENERGY_H_
#define FORETOKEN_ESTIMATOR_METHODS_ENERGY_H_

#include <optional>

#include "estimator/scenario/estimate.h"
#include "estimator/serving/served.h"

namespace foretoken {

// Absent if a device states no tdp. A device without a stated idle power counts with 0 W, and the energy is a lower
// bound. Absent if that bound is 0: every step is then bound by the CPU overhead, at a roofline exponent of infinity.
std::optional<EnergyEstimate> EnergyOf(const Replica& replica, const Served& served);

}  // namespace foretoken

#endif  // FORETOKEN_ESTIMATOR_METHODS_ENERGY_H_
