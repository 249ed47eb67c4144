// What the devices draw while they serve a request.
//
//   power  = P_idle + (P_tdp - P_idle) u                     of one device
//   u      = larger of the compute and the memory part of a phase over its time
//   energy = devices (P_idle t + (P_tdp - P_idle) u t) / n   of a phase of t seconds that n requests share, summed
//
// A straight line between two stated points: real power depends on what is computed too. Time in which a request waits
// is others' energy, or nobody's; devices that idle between requests are not counted. [ours]
#ifndef FORETOKEN_ESTIMATOR_METHODS_ENERGY_H_
#define FORETOKEN_ESTIMATOR_METHODS_ENERGY_H_

#include <optional>

#include "estimator/scenario/estimate.h"
#include "estimator/serving/served.h"

namespace foretoken {

// Nothing where a device that takes part states no tdp. Where one states no idle power that is counted as 0, and the
// energy is a lower bound; nothing where that bound is 0, with every step bound by the host at s = infinity.
std::optional<EnergyEstimate> EnergyOf(const Replica& replica, const Served& served);

}  // namespace foretoken

#endif  // FORETOKEN_ESTIMATOR_METHODS_ENERGY_H_
