// Memory, throughput, energy, cost and verdict of an estimate.
#include "server/rpc/wire/convert.h"

namespace foretoken::rpc {
namespace {

void WriteThroughput(const Throughput& throughput, v1::Throughput& message) {
  message.set_output_tokens_per_second(throughput.output_tokens_per_second);
  message.set_output_tokens_per_second_per_device(throughput.output_tokens_per_second_per_device);
  message.set_output_tokens_per_second_per_user(throughput.output_tokens_per_second_per_user);
  message.set_requests_per_second(throughput.requests_per_second);
}

void WriteMemory(const MemoryUse& memory, v1::MemoryUse& message) {
  message.set_weight_bytes(memory.weights.value());
  message.set_kv_cache_bytes(memory.kv_cache.value());
  message.set_activation_bytes(memory.activations.value());
  message.set_kv_bytes_per_token(memory.kv_per_token.value());
  if (memory.free) message.set_free_bytes(memory.free->value());
  if (memory.largest_batch) message.set_largest_batch(*memory.largest_batch);
  if (memory.kv_tokens_capacity) message.set_kv_tokens_capacity(*memory.kv_tokens_capacity);
  if (memory.compute_bound_batch) message.set_compute_bound_batch(*memory.compute_bound_batch);
  if (memory.state_per_sequence) message.set_state_bytes_per_sequence(memory.state_per_sequence->value());
}

void WriteSecondary(const Estimate& estimate, v1::Estimate& message) {
  if (estimate.speculation) {
    v1::SpeculativeRound& round = *message.mutable_speculative_round();
    round.set_accepted_tokens(estimate.speculation->accepted_tokens);
    round.set_verify_seconds(estimate.speculation->verify.value());
    round.set_draft_seconds(estimate.speculation->draft.value());
  }
  if (!estimate.disaggregation) return;
  const DisaggregationEstimate& pools = *estimate.disaggregation;
  v1::DisaggregatedUse& use = *message.mutable_disaggregated_use();
  use.set_transfer_bytes(pools.transfer.value());
  use.set_exposed_transfer_seconds(pools.exposed.value());
  use.set_prefill_requests_per_second(pools.prefill_requests_per_second);
  if (pools.transfer_requests_per_second) use.set_transfer_requests_per_second(*pools.transfer_requests_per_second);
  if (pools.decode_requests_per_second) use.set_decode_requests_per_second(*pools.decode_requests_per_second);
  use.set_limit(static_cast<v1::DisaggregatedLimit>(pools.limit));
  WriteMemory(pools.prefill_memory, *use.mutable_prefill_memory());
  use.set_prefill_devices(pools.prefill_devices);
}

void WriteEnergyAndCost(const Estimate& estimate, v1::Estimate& message) {
  if (estimate.energy) {
    v1::EnergyUse& energy = *message.mutable_energy();
    energy.set_joules_per_request(estimate.energy->joules_per_request);
    energy.set_joules_per_output_token(estimate.energy->joules_per_output_token);
    energy.set_prefill_utilization(estimate.energy->prefill_utilization);
    energy.set_decode_utilization(estimate.energy->decode_utilization);
    energy.set_is_lower_bound(estimate.energy->is_lower_bound);
  }
  if (!estimate.cost) return;
  message.mutable_cost()->set_cost_per_request(estimate.cost->per_request);
  message.mutable_cost()->set_cost_per_million_output_tokens(estimate.cost->per_million_output_tokens);
}

v1::Verdict ToApi(Verdict verdict) {
  static_assert(v1::Verdict_ARRAYSIZE == 5);
  switch (verdict) {
    case Verdict::kUnspecified:
      return v1::VERDICT_UNSPECIFIED;
    case Verdict::kFeasible:
      return v1::VERDICT_FEASIBLE;
    case Verdict::kInfeasible:
      return v1::VERDICT_INFEASIBLE;
    case Verdict::kUnknown:
      return v1::VERDICT_UNKNOWN;
    case Verdict::kMarginal:
      return v1::VERDICT_MARGINAL;
  }
  return v1::VERDICT_UNSPECIFIED;
}

void WriteSlo(const SloVerdict& slo, v1::SloVerdict& message) {
  message.set_verdict(ToApi(slo.verdict));
  if (slo.headroom) message.set_headroom(*slo.headroom);
  if (slo.probability) message.set_probability(*slo.probability);
}

}  // namespace

void WriteUse(const Estimate& estimate, v1::Estimate& message) {
  WriteThroughput(estimate.throughput, *message.mutable_throughput());
  if (estimate.memory) WriteMemory(*estimate.memory, *message.mutable_memory());
  if (estimate.mbu) message.set_mbu(*estimate.mbu);
  if (estimate.mfu) message.set_mfu(*estimate.mfu);
  message.set_waves(estimate.waves);
  message.set_devices(estimate.devices);
  WriteSecondary(estimate, message);
  WriteEnergyAndCost(estimate, message);
  if (estimate.slo) WriteSlo(*estimate.slo, *message.mutable_slo_verdict());
}

}  // namespace foretoken::rpc
