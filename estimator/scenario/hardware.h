// One device, as its vendor or its measurements state it. Peaks are dense and per dtype; link bandwidth is one
// direction, summed per device. What is not known is absent, never zero. Fields mirror foretoken.v1.HardwareSpec.
#ifndef FORETOKEN_ESTIMATOR_SCENARIO_HARDWARE_H_
#define FORETOKEN_ESTIMATOR_SCENARIO_HARDWARE_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "estimator/base/dtype.h"
#include "estimator/base/units.h"

namespace foretoken {

struct PeakCompute {
  std::optional<FlopsPerSecond> fp32;  // vector units
  std::optional<FlopsPerSecond> tf32;
  std::optional<FlopsPerSecond> bf16;
  std::optional<FlopsPerSecond> fp16;
  std::optional<FlopsPerSecond> fp8;
  std::optional<FlopsPerSecond> int8;
  std::optional<FlopsPerSecond> fp4;
  std::optional<FlopsPerSecond> int4;
};

// The model, engine and placement that a linear profile was measured on; it answers for no other.
struct ProfileKey {
  std::string model_id;
  std::string engine;
  int tensor_parallel = 1;
  int pipeline_parallel = 1;
  Dtype weight_dtype = Dtype::kUnspecified;    // resolved: never kUnspecified in a catalog
  Dtype kv_cache_dtype = Dtype::kUnspecified;  // likewise

  bool operator==(const ProfileKey&) const = default;
};

// A linear latency profile (linear_profile.h).
struct LinearProfile {
  ProfileKey key;
  std::optional<double> prefill_tokens_per_second;
  std::optional<BytesPerSecond> effective_bandwidth;  // all devices of the deployment together
  std::optional<double> min_prefill_tokens;           // range of batch * prompt tokens that was profiled
  std::optional<double> max_prefill_tokens;
  bool superseded = false;  // a calibration predicts the same measurements better: used only where it is requested
};

class Calibrations;

struct Hardware {
  std::string id;
  std::optional<Bytes> memory_capacity;
  std::optional<BytesPerSecond> memory_bandwidth;
  PeakCompute peak;
  std::optional<BytesPerSecond> interconnect;
  bool interconnect_is_pcie = false;  // devices have no link of their own
  std::optional<int> devices_per_node;
  std::optional<BytesPerSecond> scale_out;
  std::optional<BytesPerSecond> host_link;
  std::optional<double> tdp_watts;
  std::optional<double> idle_watts;
  std::optional<double> peak_to_average_bandwidth;
  std::vector<LinearProfile> linear_profiles;
  std::shared_ptr<const Calibrations> calibrations;  // fitted to measurements registered for it; null: none
};

}  // namespace foretoken

#endif  // FORETOKEN_ESTIMATOR_SCENARIO_HARDWARE_H_
