// The parameters of the core model that a fit may change. Each is positive and fitted in its logarithm.
#ifndef FORETOKEN_ESTIMATOR_SCENARIO_PARAMETERS_H_
#define FORETOKEN_ESTIMATOR_SCENARIO_PARAMETERS_H_

#include <cstddef>
#include <span>
#include <string_view>

#include "estimator/scenario/efficiencies.h"

namespace foretoken {

// Name, unit and limits of one parameter.
struct Parameter {
  std::string_view name;                     // "weight_read_efficiency", as docs/model/fit.md lists it
  std::string_view unit;                     // "1", "s" or "B/s"
  double (*get)(const Efficiencies&);        // its value
  void (*set)(double value, Efficiencies&);  // not clamped
  double log_deviation = 0;                  // how far, in its logarithm, a calibration may be from its parent's
  double low = 0, high = 0;                  // limits of what is physical
};

// All of them, in one order everywhere: first those that runs tell of, then those that kernels alone tell of.
std::span<const Parameter> Parameters();
std::span<const Parameter> RunParameters();
std::span<const Parameter> KernelParameters();

// The place of a name in Parameters(); Parameters().size(): there is none of that name.
size_t FindParameter(std::string_view name);

inline double Get(const Efficiencies& efficiencies, const Parameter& parameter) { return parameter.get(efficiencies); }
// Clamped to [low, high].
void Set(const Parameter& parameter, double value, Efficiencies& efficiencies);

}  // namespace foretoken

#endif  // FORETOKEN_ESTIMATOR_SCENARIO_PARAMETERS_H_
