#include "estimator/scenario/parameters.h"

#include <algorithm>
#include <array>

namespace foretoken {
namespace {

using E = Efficiencies;

// Deviations: how much each parameter differed between engines and devices in published measurements
// (docs/model/fit.md). Parameters that end-to-end times cannot tell apart are not here: they stay at the prior.
constexpr std::array kParameters = {
    Parameter{"gemm_efficiency", "1", &E::gemm, nullptr, 0.2, 0.05, 1},
    Parameter{"prefill_attention_efficiency", "1", &E::prefill_attention, nullptr, 0.6, 0.02, 1},
    Parameter{"decode_attention_efficiency", "1", &E::decode_attention, nullptr, 0.7, 0.005, 3},
    Parameter{"weight_read_efficiency", "1", &E::weight_read, nullptr, 0.15, 0.1, 1},
    Parameter{"kv_read_efficiency", "1", &E::kv_read, nullptr, 0.25, 0.05, 1},
    Parameter{"link_efficiency", "1", &E::link, nullptr, 0.4, 0.02, 1},
    Parameter{"link_latency", "s", nullptr, &E::link_latency, 0.8, 1e-7, 1e-3},
    Parameter{"layer_gap", "s", nullptr, &E::layer_gap, 1.0, 1e-7, 1e-2},
    Parameter{"host_layer", "s", nullptr, &E::host_layer, 1.5, 1e-8, 1e-2},
    Parameter{"host_request", "s", nullptr, &E::host_request, 1.2, 1e-8, 1e-1},
    Parameter{"admission", "s", nullptr, &E::admission, 1.3, 1e-6, 1},
    Parameter{"admission_per_request", "s", nullptr, &E::admission_per_request, 1.3, 1e-7, 1e-1},
    Parameter{"prefill_share", "1", &E::prefill_share, nullptr, 0.3, 0.01, 1},
};

}  // namespace

std::span<const Parameter> Parameters() { return kParameters; }

size_t FindParameter(std::string_view name) {
  const auto found = std::find_if(kParameters.begin(), kParameters.end(),
                                  [name](const Parameter& parameter) { return parameter.name == name; });
  return static_cast<size_t>(found - kParameters.begin());
}

double Get(const Efficiencies& efficiencies, const Parameter& parameter) {
  return parameter.share != nullptr ? efficiencies.*parameter.share : (efficiencies.*parameter.seconds).value();
}

void Set(const Parameter& parameter, double value, Efficiencies& efficiencies) {
  const double clamped = std::clamp(value, parameter.low, parameter.high);
  if (parameter.share != nullptr) {
    efficiencies.*parameter.share = clamped;
  } else {
    efficiencies.*parameter.seconds = Seconds(clamped);
  }
}

}  // namespace foretoken
