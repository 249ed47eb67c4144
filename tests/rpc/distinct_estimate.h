// One estimate in which every field has a value of its own, as the core model makes it and as the API must show it.
#ifndef FORETOKEN_TESTS_RPC_DISTINCT_ESTIMATE_H_
#define FORETOKEN_TESTS_RPC_DISTINCT_ESTIMATE_H_

#include "estimator/scenario/estimate.h"

namespace foretoken::rpc {

inline TimeEstimate DistinctTime(double first) {
  return {.time = Seconds(first), .band = Band{.low = first + 1, .high = first + 2, .coverage = (first + 3) / 1000}};
}

inline Phase DistinctPhase(double first, Bound bound, Provenance provenance) {
  return {.time = Seconds(first),
          .parts = TimeParts{.compute = Seconds(first + 1),
                             .memory = Seconds(first + 2),
                             .communication = Seconds(first + 3),
                             .host = Seconds(first + 4),
                             .queueing = Seconds(first + 5)},
          .bound = bound,
          .provenance = provenance};
}

inline MemoryUse DistinctMemory(double first) {
  return {.weights = Bytes(first),
          .kv_cache = Bytes(first + 1),
          .activations = Bytes(first + 2),
          .free = Bytes(first + 3),
          .largest_batch = first + 4,
          .kv_tokens_capacity = first + 5,
          .kv_per_token = Bytes(first + 6),
          .compute_bound_batch = first + 7,
          .state_per_sequence = Bytes(first + 8)};
}

inline OperatorEstimate DistinctOperator(const char* name, double first) {
  return {.name = name,
          .count = first,
          .flops = Flops(first + 1),
          .bytes = Bytes(first + 2),
          .communication_bytes = Bytes(first + 3),
          .parts = {.memory = Seconds(first + 4)},
          .formula = std::string(name) + " * N",
          .inputs = {{"N", first + 5}}};
}

inline SimulatedTimes DistinctTimes(double first) {
  return {.mean = {first, first + 1},
          .p50 = {first + 2, first + 3},
          .p90 = {first + 4, first + 5},
          .p95 = {first + 6, first + 7},
          .p99 = {first + 8, first + 9}};
}

inline Estimate DistinctEstimate() {
  return {.method = Method::kKpi,
          .ttft = DistinctTime(101),
          .tpot = DistinctTime(111),
          .e2e = DistinctTime(121),
          .decode_steps = 131,
          .tpot_is_next_step = true,
          .throughput = {.output_tokens_per_second = 141,
                         .output_tokens_per_second_per_device = 142,
                         .output_tokens_per_second_per_user = 143,
                         .requests_per_second = 144},
          .prefill = DistinctPhase(151, Bound::kMemory, Provenance::kCalibrated),
          .decode = DistinctPhase(161, Bound::kQueueing, Provenance::kSpeedOfLight),
          .memory = DistinctMemory(171),
          .mbu = 181,
          .mfu = 182,
          .percentiles = Percentiles{.ttft = DistinctTimes(301),
                                     .tpot = DistinctTimes(311),
                                     .itl = DistinctTimes(321),
                                     .e2e = DistinctTimes(331),
                                     .requests = 341},
          .slo = SloVerdict{.verdict = Verdict::kMarginal, .headroom = -183, .probability = 184},
          .speculation = SpeculationEstimate{.accepted_tokens = 191, .verify = Seconds(192), .draft = Seconds(193)},
          .disaggregation = DisaggregationEstimate{.transfer = Bytes(201),
                                                   .exposed = Seconds(202),
                                                   .prefill_requests_per_second = 203,
                                                   .transfer_requests_per_second = 204,
                                                   .decode_requests_per_second = 205,
                                                   .limit = DisaggregationLimit::kTransfer,
                                                   .prefill_memory = DistinctMemory(211),
                                                   .prefill_devices = 221},
          .energy = EnergyEstimate{.joules_per_request = 231,
                                   .joules_per_output_token = 232,
                                   .prefill_utilization = 233,
                                   .decode_utilization = 234,
                                   .is_lower_bound = true},
          .cost = CostEstimate{.per_request = 241, .per_million_output_tokens = 242},
          .waves = 251,
          .devices = 252,
          .calibration_id = "a calibration",
          .warnings = {{.code = WarningCode::kWaves, .message = "what was done", .field = "workload.batch_size"}},
          .prefill_operators = {DistinctOperator("qkv_proj", 261)},
          .decode_operators = {DistinctOperator("mlp_up", 271)},
          .token_latencies = {Seconds(281), Seconds(282)},
          .kpi = KpiMetrics{.compute_limited_ttft = Seconds(291),
                            .bandwidth_for_tpot = BytesPerSecond(292),
                            .peak_for_ttft = FlopsPerSecond(293)}};
}

}  // namespace foretoken::rpc

#endif  // FORETOKEN_TESTS_RPC_DISTINCT_ESTIMATE_H_
