// How much CPU time an estimate takes, told from its scenario before it is made, so that a call of many estimates can
// be refused before it begins.
//
//   if (points * CpuTimeOf(scenario) > budget) ...
//
// A class of cost rather than a prediction: it counts the steps that the policy evaluates at most, at the price of a
// step. Measured times are up to that, on a core of 2025 (tests/bench/cost_search.cc; docs/model/search.md).
#ifndef FORETOKEN_ESTIMATOR_METHODS_CPU_TIME_H_
#define FORETOKEN_ESTIMATOR_METHODS_CPU_TIME_H_

#include "estimator/base/units.h"
#include "estimator/scenario/scenario.h"

namespace foretoken {

// No estimate without percentiles takes more, whatever its scenario.
inline constexpr Seconds kMostCpuTime(1e-3);

// A step of a simulation by itself: twice what one of many sequences takes (docs/model/simulation.md, "The time of a
// step").
inline constexpr Seconds kCpuTimeOfSimulatedStep(1e-6);

// A point of an OutputRow.
inline constexpr Seconds kCpuTimeOfRowPoint(0.2e-6);

// Without latencies of single tokens and operators. At most kMostCpuTime, and the steps that percentiles may take.
// REQUIRES: as ComputeEstimate.
Seconds CpuTimeOf(const Scenario& scenario);

}  // namespace foretoken

#endif  // FORETOKEN_ESTIMATOR_METHODS_CPU_TIME_H_
