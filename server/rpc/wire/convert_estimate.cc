#include "server/rpc/wire/convert.h"

namespace foretoken::rpc {
namespace {

void WriteTime(const TimeEstimate& time, v1::TimeEstimate& message) {
  message.set_seconds(time.time.value());
  if (!time.band) return;
  message.mutable_band()->set_low(time.band->low);
  message.mutable_band()->set_high(time.band->high);
  message.mutable_band()->set_coverage(time.band->coverage);
}

void WritePhase(const Phase& phase, v1::Phase& message) {
  message.set_seconds(phase.time.value());
  if (phase.parts) {
    message.mutable_parts()->set_compute_seconds(phase.parts->compute.value());
    message.mutable_parts()->set_memory_seconds(phase.parts->memory.value());
    message.mutable_parts()->set_communication_seconds(phase.parts->communication.value());
    message.mutable_parts()->set_host_seconds(phase.parts->host.value());
    message.mutable_parts()->set_queueing_seconds(phase.parts->queueing.value());
  }
  message.set_bound(static_cast<v1::Bound>(phase.bound));
  message.set_provenance(static_cast<v1::Provenance>(phase.provenance));
}

void WriteOperator(const OperatorEstimate& op, v1::OperatorEstimate& message) {
  message.set_name(op.name);
  message.set_count(op.count);
  message.set_flops(op.flops.value());
  message.set_bytes(op.bytes.value());
  message.set_communication_bytes(op.communication_bytes.value());
  message.set_seconds(op.parts.Total().value());
  message.set_bound(static_cast<v1::Bound>(op.parts.LargestPart()));
  message.set_formula(op.formula);
  for (const auto& [symbol, value] : op.inputs) (*message.mutable_inputs())[symbol] = value;
}

void WriteKpi(const KpiMetrics& kpi, v1::Estimate& message) {
  message.set_compute_limited_ttft_seconds(kpi.compute_limited_ttft.value());
  if (kpi.bandwidth_for_tpot) message.set_bandwidth_for_max_tpot_bytes_per_second(kpi.bandwidth_for_tpot->value());
  if (kpi.peak_for_ttft) message.set_peak_for_max_ttft_flops_per_second(kpi.peak_for_ttft->value());
}

void WriteTimes(const Estimate& estimate, v1::Estimate& message) {
  WriteTime(estimate.ttft, *message.mutable_ttft());
  WriteTime(estimate.tpot, *message.mutable_tpot());
  WriteTime(estimate.e2e, *message.mutable_e2e());
  message.set_decode_steps(estimate.decode_steps);
  message.set_tpot_is_next_step(estimate.tpot_is_next_step);
  WritePhase(estimate.prefill, *message.mutable_prefill());
  WritePhase(estimate.decode, *message.mutable_decode());
  if (estimate.kpi) WriteKpi(*estimate.kpi, message);
  message.mutable_token_latency_seconds()->Reserve(static_cast<int>(estimate.token_latencies.size()));
  for (const Seconds latency : estimate.token_latencies) message.add_token_latency_seconds(latency.value());
}

}  // namespace

void WriteTimes(const SimulatedTimes& times, v1::SimulatedTimes& message) {
  const auto write = [](const SimulatedValue& value, v1::SimulatedTime& time) {
    time.set_seconds(value.value);
    if (value.error) time.set_standard_error_seconds(*value.error);
  };
  write(times.mean, *message.mutable_mean());
  write(times.p50, *message.mutable_p50());
  write(times.p90, *message.mutable_p90());
  write(times.p95, *message.mutable_p95());
  write(times.p99, *message.mutable_p99());
}

void WriteWarning(const Warning& warning, v1::Warning& message) {
  message.set_code(static_cast<v1::WarningCode>(warning.code));
  message.set_message(warning.message);
  message.set_field(warning.field);
}

void AddWarning(const Warning& warning, v1::Estimate& message) { WriteWarning(warning, *message.add_warnings()); }

void WriteEstimate(const Estimate& estimate, v1::Estimate& message) {
  message.set_method(static_cast<v1::Method>(estimate.method));
  message.set_calibration_id(estimate.calibration_id);
  WriteTimes(estimate, message);
  WriteUse(estimate, message);
  if (estimate.percentiles) {
    WriteServedTimes(*estimate.percentiles, *message.mutable_percentiles());
    message.mutable_percentiles()->set_requests(static_cast<int>(estimate.percentiles->requests));
  }
  for (const Warning& warning : estimate.warnings) AddWarning(warning, message);
  for (const OperatorEstimate& op : estimate.prefill_operators) WriteOperator(op, *message.add_prefill_operators());
  for (const OperatorEstimate& op : estimate.decode_operators) WriteOperator(op, *message.add_decode_operators());
}

}  // namespace foretoken::rpc
