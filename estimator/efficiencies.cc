#include "estimator/efficiencies.h"

namespace foretoken {

const Efficiencies& GenericPrior() {
  static const Efficiencies prior = {
      .gemm = 0.72,
      .prefill_attention = 0.5,
      .decode_attention = 0.2,
      .weight_read = 0.83,
      .kv_read = 0.8,
      .elementwise = 0.5,
      .link = 0.7,
      .gemm_half_rows = 5,
      .link_latency = Seconds(5e-6),
      .layer_gap = Seconds(45e-6),
      .host_step = Seconds(1e-3),
      .host_layer = Seconds(20e-6),
      .host_token = Seconds(0),
      .host_request = Seconds(10e-6),
      .admission = Seconds(4e-3),
      .admission_per_request = Seconds(0.2e-3),
      .prefill_share = 0.32,
      .burst_share = 0.5,
      .expert_skew = 0.2,
  };
  return prior;
}

const Efficiencies& SpeedOfLight() {
  static const Efficiencies floor = {.speed_of_light = true};
  return floor;
}

}  // namespace foretoken
