// The constants of the operator model: how near real kernels and engines come to the hardware's stated figures.
// Few and physical; a calibration replaces the prior's values, nothing else hides a constant.
#ifndef FORETOKEN_ESTIMATOR_SCENARIO_EFFICIENCIES_H_
#define FORETOKEN_ESTIMATOR_SCENARIO_EFFICIENCIES_H_

#include <limits>

#include "estimator/base/units.h"

namespace foretoken {

struct Efficiencies {
  // Shares of a peak, above 0 to 1 (decode attention may pass 1 where an engine uses the matrix units).
  double gemm = 1;               // e_c, of the matrix peak, at many rows
  double expert_gemm = 1;        // e_x, of the rate that other matrix products reach
  double prefill_attention = 1;  // e_a, of the matrix peak
  double decode_attention = 1;   // e_d, of the fp32 vector peak, damped by vector_reference
  double weight_read = 1;        // e_w, of memory bandwidth; see weight_read_balance
  double kv_read = 1;            // e_k, of memory bandwidth
  double elementwise = 1;        // of memory bandwidth
  double link = 1;               // e_n, of link bandwidth

  double gemm_half_rows = 0;  // M0: rows whose time a GEMM pays on top of its own
  // beta: largest VectorBalance (machine.h) of the devices that e_w was fitted to; CarriedTo follows it. 0: e_w is
  // taken as it is.
  double weight_read_balance = 0;
  // r: FLOPs that an element serves each time it comes from memory to the matrix units.
  double gemm_reuse = std::numeric_limits<double>::infinity();
  // P_ref: decode attention scales with the square root of a device's fp32 peak over it; 0: in proportion to the peak.
  FlopsPerSecond vector_reference;

  Seconds link_latency;           // alpha, of one exchange
  Seconds layer_gap;              // c_gap: idle device time per layer
  Seconds host_step;              // c_step: host time of a step
  Seconds host_layer;             // c_layer: host time of a step per layer
  Seconds host_token;             // c_tok: per token of a step
  Seconds host_request;           // c_req: per row of logits of a step
  Seconds admission;              // a0: of a prefill
  Seconds admission_per_request;  // a1: of a prefill, per sequence

  // xi: share of the others' prefills, but for those just before its own, that delays a request's decode steps; the
  // rest delays its first token. Closed loop. 1: requests follow each other, 0: all come at once.
  double prefill_share = 1;

  // The floor: chosen experts only, decode attention on the matrix units, no communication.
  bool speed_of_light = false;
};

// One set for any hardware and engine, from published kernel measurements (sources in efficiencies.cc and
// docs/model/scenario.md). Behind every DATASHEET estimate of batches.
const Efficiencies& GenericPrior();

// The same for requests that a server batches continuously: engines that do are younger and closer to the hardware.
const Efficiencies& GenericServedPrior();

// Which of the two.
const Efficiencies& GenericPriorOf(bool continuous);

// Every share 1, every overhead 0: nothing real is faster.
const Efficiencies& SpeedOfLight();

}  // namespace foretoken

#endif  // FORETOKEN_ESTIMATOR_SCENARIO_EFFICIENCIES_H_
