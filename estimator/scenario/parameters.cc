#include "estimator/scenario/parameters.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

namespace foretoken {
namespace {

using E = Efficiencies;
using K = ExpertKernels;

double Number(double value) { return value; }
template <typename Unit>
double Number(Quantity<Unit> value) {
  return value.value();
}

template <auto Member>
constexpr Parameter Run(std::string_view name, std::string_view unit, double log_deviation, double low, double high) {
  return {.name = name,
          .unit = unit,
          .get = [](const E& e) { return Number(e.*Member); },
          .set = [](double value, E& e) { e.*Member = std::decay_t<decltype(e.*Member)>(value); },
          .log_deviation = log_deviation,
          .low = low,
          .high = high};
}

template <size_t kFormat, auto Member>
constexpr Parameter Experts(std::string_view name, std::string_view unit, double log_deviation, double low,
                            double high) {
  return {.name = name,
          .unit = unit,
          .get = [](const E& e) { return Number(e.experts[kFormat].*Member); },
          .set = [](double value,
                    E& e) { e.experts[kFormat].*Member = std::decay_t<decltype(e.experts[kFormat].*Member)>(value); },
          .log_deviation = log_deviation,
          .low = low,
          .high = high};
}

// Deviations: how much each parameter differed between engines and devices in published measurements
// (docs/model/fit.md). Parameters that end-to-end times cannot tell apart are not here: they stay at the prior.
constexpr std::array kOfRuns = {
    Run<&E::gemm>("gemm_efficiency", "1", 0.2, 0.05, 1),
    Run<&E::prefill_attention>("prefill_attention_efficiency", "1", 0.6, 0.02, 1),
    Run<&E::decode_attention>("decode_attention_efficiency", "1", 0.7, 0.005, 3),
    Run<&E::weight_read>("weight_read_efficiency", "1", 0.15, 0.1, 1),
    Run<&E::kv_read>("kv_read_efficiency", "1", 0.25, 0.05, 1),
    Run<&E::link>("link_efficiency", "1", 0.4, 0.02, 1),
    Run<&E::link_latency>("link_latency", "s", 0.8, 1e-7, 1e-3),
    Run<&E::layer_gap>("layer_gap", "s", 1.0, 1e-7, 1e-2),
    Run<&E::host_layer>("host_layer", "s", 1.5, 1e-8, 1e-2),
    Run<&E::host_prompt_layer>("host_prompt_layer", "s", 1.0, 1e-8, 1e-1),
    Run<&E::host_request>("host_request", "s", 1.2, 1e-8, 1e-1),
    Run<&E::admission>("admission", "s", 1.3, 1e-6, 1),
    Run<&E::admission_per_request>("admission_per_request", "s", 1.3, 1e-7, 1e-1),
    Run<&E::admission_per_token>("admission_per_token", "s", 1.0, 1e-9, 1e-3),
    Run<&E::prefill_share>("prefill_share", "1", 0.3, 0.01, 1),
};

struct ExpertNames {
  std::string_view gemm, half_rows, row_rate;
};

// By MatrixFormat.
constexpr std::array<ExpertNames, kNumMatrixFormats> kExpertNames = {{
    {"expert_gemm_efficiency_16bit", "expert_half_rows_16bit", "expert_row_rate_16bit"},
    {"expert_gemm_efficiency_8bit", "expert_half_rows_8bit", "expert_row_rate_8bit"},
    {"expert_gemm_efficiency_fp8_block", "expert_half_rows_fp8_block", "expert_row_rate_fp8_block"},
    {"expert_gemm_efficiency_int4_weights", "expert_half_rows_int4_weights", "expert_row_rate_int4_weights"},
    {"expert_gemm_efficiency_nvfp4", "expert_half_rows_nvfp4", "expert_row_rate_nvfp4"},
    {"expert_gemm_efficiency_mxfp4_weights", "expert_half_rows_mxfp4_weights", "expert_row_rate_mxfp4_weights"},
    {"expert_gemm_efficiency_mxfp4_fp8", "expert_half_rows_mxfp4_fp8", "expert_row_rate_mxfp4_fp8"},
}};
constexpr size_t kOfExperts = 3;

template <size_t kFormat>
constexpr std::array<Parameter, kOfExperts> ExpertsOf() {
  constexpr const ExpertNames& names = kExpertNames[kFormat];
  return {Experts<kFormat, &K::gemm>(names.gemm, "1", 0.5, 0.001, 1),
          Experts<kFormat, &K::half_rows>(names.half_rows, "1", 0.7, 0.1, 1000),
          Experts<kFormat, &K::row_rate>(names.row_rate, "B/s", 0.8, 1e10, 1e15)};
}

template <size_t... kFormats>
constexpr auto AllParameters(std::index_sequence<kFormats...>) {
  std::array<Parameter, kOfRuns.size() + sizeof...(kFormats) * kOfExperts> all{};
  auto* end = std::copy(kOfRuns.begin(), kOfRuns.end(), all.data());
  const auto append = [&end](const std::array<Parameter, kOfExperts>& of_format) {
    end = std::copy(of_format.begin(), of_format.end(), end);
  };
  (append(ExpertsOf<kFormats>()), ...);
  return all;
}

constexpr auto kParameters = AllParameters(std::make_index_sequence<kNumMatrixFormats>());

}  // namespace

std::span<const Parameter> Parameters() { return kParameters; }
std::span<const Parameter> RunParameters() { return Parameters().first(kOfRuns.size()); }
std::span<const Parameter> KernelParameters() { return Parameters().subspan(kOfRuns.size()); }

size_t FindParameter(std::string_view name) {
  const auto found = std::find_if(kParameters.begin(), kParameters.end(),
                                  [name](const Parameter& parameter) { return parameter.name == name; });
  return static_cast<size_t>(found - kParameters.begin());
}

void Set(const Parameter& parameter, double value, Efficiencies& efficiencies) {
  parameter.set(std::clamp(value, parameter.low, parameter.high), efficiencies);
}

}  // namespace foretoken
