#include "server/rpc/sweep/sweep_metric.h"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <type_traits>

namespace foretoken::rpc {
namespace {

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

double Value(double value) { return value; }
template <typename Quantity>
requires std::is_class_v<Quantity>
double Value(const Quantity& value) { return value.value(); }
template <typename T>
double Value(const std::optional<T>& value) {
  return value ? Value(*value) : kUnknown;
}

template <TimeEstimate Estimate::*kTime>
double TimeOf(const Estimate& e) {
  return (e.*kTime).time.value();
}

template <TimeEstimate Estimate::*kTime, double Band::*kEnd>
double BandEnd(const Estimate& e) {
  return (e.*kTime).band ? (*(e.*kTime).band).*kEnd : kUnknown;
}

template <Phase Estimate::*kPhase, Seconds TimeParts::*kPart>
double PartOf(const Estimate& e) {
  return (e.*kPhase).parts ? ((*(e.*kPhase).parts).*kPart).value() : kUnknown;
}

template <Bytes MemoryUse::*kField>
double MemoryOf(const Estimate& e) {
  return e.memory ? ((*e.memory).*kField).value() : kUnknown;
}

template <auto kField>
double OptionalMemoryOf(const Estimate& e) {
  return e.memory ? Value((*e.memory).*kField) : kUnknown;
}

double StateBytes(const Estimate& e) { return e.memory ? Value(e.memory->state_per_sequence) : kUnknown; }

template <double Throughput::*kField>
double ThroughputOf(const Estimate& e) {
  return e.throughput.*kField;
}

template <double EnergyEstimate::*kField>
double EnergyOf(const Estimate& e) {
  return e.energy ? (*e.energy).*kField : kUnknown;
}

template <double CostEstimate::*kField>
double CostOf(const Estimate& e) {
  return e.cost ? (*e.cost).*kField : kUnknown;
}

// A field of a part that not every estimate has, such as the draft model's.
template <auto kPart, auto kField>
double PartFieldOf(const Estimate& e) {
  return e.*kPart ? Value((*(e.*kPart)).*kField) : kUnknown;
}

template <auto kField>
double PrefillPoolOf(const Estimate& e) {
  return e.disaggregation ? Value(e.disaggregation->prefill_memory.*kField) : kUnknown;
}

template <std::optional<double> Estimate::*kField>
double OptionalOf(const Estimate& e) {
  return Value(e.*kField);
}

template <int Estimate::*kField>
double CountOf(const Estimate& e) {
  return e.*kField;
}

double DecodeSteps(const Estimate& e) { return e.decode_steps; }

double Headroom(const Estimate& e) { return e.slo ? Value(e.slo->headroom) : kUnknown; }
double Probability(const Estimate& e) { return e.slo ? Value(e.slo->probability) : kUnknown; }

template <std::optional<SimulatedTimes> Percentiles::*kTime, SimulatedValue SimulatedTimes::*kRank>
double PercentileOf(const Estimate& e) {
  return e.percentiles && e.percentiles.value().*kTime ? ((*((*e.percentiles).*kTime)).*kRank).value : kUnknown;
}

using E = Estimate;
using P = TimeParts;
using B = OutputBlock;

// The same at every output length.
constexpr MetricReader Shared(ValueReader of) { return {of, RowShape::kShared, nullptr}; }
// Where the row has no column of it.
constexpr MetricReader PerPoint(ValueReader of) { return {of, RowShape::kPerPoint, nullptr}; }
constexpr MetricReader Column(ValueReader of, ColumnWriter column) { return {of, RowShape::kColumn, column}; }

template <B::Column B::*kColumn>
void Copy(const OutputRow&, const B& block, double* out) {
  std::copy_n((block.*kColumn).data(), block.count, out);
}

template <TimePartsColumns::Column TimePartsColumns::*kPart>
void CopyPart(const OutputRow&, const B& block, double* out) {
  std::copy_n((block.decode.*kPart).data(), block.count, out);
}

template <Seconds P::*kPart, TimePartsColumns::Column TimePartsColumns::*kColumn>
constexpr MetricReader DecodePart() {
  return Column(PartOf<&E::decode, kPart>, CopyPart<kColumn>);
}

template <void (OutputRow::*kColumn)(const B&, double*) const>
void RowColumn(const OutputRow& row, const B& block, double* out) {
  (row.*kColumn)(block, out);
}

void PerUser(const OutputRow&, const B& block, double* out) {
  for (int i = 0; i < block.count; ++i) out[i] = 1 / block.tpot[i];
}

// A metric beside what reads it.
struct MetricRow {
  v1::Metric metric;
  MetricReader reader;
};

constexpr MetricRow kRows[] = {
    {v1::METRIC_TTFT_SECONDS, Shared(TimeOf<&E::ttft>)},
    {v1::METRIC_TPOT_SECONDS, Column(TimeOf<&E::tpot>, Copy<&B::tpot>)},
    {v1::METRIC_E2E_SECONDS, Column(TimeOf<&E::e2e>, Copy<&B::e2e>)},
    {v1::METRIC_TTFT_LOW_SECONDS, Shared(BandEnd<&E::ttft, &Band::low>)},
    {v1::METRIC_TTFT_HIGH_SECONDS, Shared(BandEnd<&E::ttft, &Band::high>)},
    {v1::METRIC_TPOT_LOW_SECONDS, PerPoint(BandEnd<&E::tpot, &Band::low>)},
    {v1::METRIC_TPOT_HIGH_SECONDS, PerPoint(BandEnd<&E::tpot, &Band::high>)},
    {v1::METRIC_E2E_LOW_SECONDS, PerPoint(BandEnd<&E::e2e, &Band::low>)},
    {v1::METRIC_E2E_HIGH_SECONDS, PerPoint(BandEnd<&E::e2e, &Band::high>)},
    {v1::METRIC_DECODE_STEPS, Column(DecodeSteps, Copy<&B::decode_steps>)},
    {v1::METRIC_OUTPUT_TOKENS_PER_SECOND,
     Column(ThroughputOf<&Throughput::output_tokens_per_second>, Copy<&B::output_tokens_per_second>)},
    {v1::METRIC_OUTPUT_TOKENS_PER_SECOND_PER_DEVICE,
     Column(ThroughputOf<&Throughput::output_tokens_per_second_per_device>,
            Copy<&B::output_tokens_per_second_per_device>)},
    {v1::METRIC_OUTPUT_TOKENS_PER_SECOND_PER_USER,
     Column(ThroughputOf<&Throughput::output_tokens_per_second_per_user>, PerUser)},
    {v1::METRIC_REQUESTS_PER_SECOND,
     Column(ThroughputOf<&Throughput::requests_per_second>, Copy<&B::requests_per_second>)},
    {v1::METRIC_PREFILL_COMPUTE_SECONDS, Shared(PartOf<&E::prefill, &P::compute>)},
    {v1::METRIC_PREFILL_MEMORY_SECONDS, Shared(PartOf<&E::prefill, &P::memory>)},
    {v1::METRIC_PREFILL_COMMUNICATION_SECONDS, Shared(PartOf<&E::prefill, &P::communication>)},
    {v1::METRIC_PREFILL_HOST_SECONDS, Shared(PartOf<&E::prefill, &P::host>)},
    {v1::METRIC_PREFILL_QUEUEING_SECONDS, Shared(PartOf<&E::prefill, &P::queueing>)},
    {v1::METRIC_DECODE_COMPUTE_SECONDS, DecodePart<&P::compute, &TimePartsColumns::compute>()},
    {v1::METRIC_DECODE_MEMORY_SECONDS, DecodePart<&P::memory, &TimePartsColumns::memory>()},
    {v1::METRIC_DECODE_COMMUNICATION_SECONDS, DecodePart<&P::communication, &TimePartsColumns::communication>()},
    {v1::METRIC_DECODE_HOST_SECONDS, DecodePart<&P::host, &TimePartsColumns::host>()},
    {v1::METRIC_DECODE_QUEUEING_SECONDS, DecodePart<&P::queueing, &TimePartsColumns::queueing>()},
    {v1::METRIC_WEIGHT_BYTES, Shared(MemoryOf<&MemoryUse::weights>)},
    {v1::METRIC_KV_CACHE_BYTES, Column(MemoryOf<&MemoryUse::kv_cache>, RowColumn<&OutputRow::KvCacheBytes>)},
    {v1::METRIC_ACTIVATION_BYTES, Shared(MemoryOf<&MemoryUse::activations>)},
    {v1::METRIC_FREE_BYTES, Column(OptionalMemoryOf<&MemoryUse::free>, RowColumn<&OutputRow::FreeBytes>)},
    {v1::METRIC_LARGEST_BATCH,
     Column(OptionalMemoryOf<&MemoryUse::largest_batch>, RowColumn<&OutputRow::LargestBatches>)},
    {v1::METRIC_KV_TOKENS_CAPACITY, Shared(OptionalMemoryOf<&MemoryUse::kv_tokens_capacity>)},
    {v1::METRIC_COMPUTE_BOUND_BATCH, PerPoint(OptionalMemoryOf<&MemoryUse::compute_bound_batch>)},
    {v1::METRIC_MBU, Column(OptionalOf<&E::mbu>, RowColumn<&OutputRow::Mbu>)},
    {v1::METRIC_MFU, Shared(OptionalOf<&E::mfu>)},
    {v1::METRIC_SLO_HEADROOM, PerPoint(Headroom)},
    {v1::METRIC_WAVES, Shared(CountOf<&E::waves>)},
    {v1::METRIC_DEVICES, Shared(CountOf<&E::devices>)},
    {v1::METRIC_JOULES_PER_REQUEST, PerPoint(EnergyOf<&EnergyEstimate::joules_per_request>)},
    {v1::METRIC_JOULES_PER_OUTPUT_TOKEN, PerPoint(EnergyOf<&EnergyEstimate::joules_per_output_token>)},
    {v1::METRIC_COST_PER_REQUEST, PerPoint(CostOf<&CostEstimate::per_request>)},
    {v1::METRIC_COST_PER_MILLION_OUTPUT_TOKENS, PerPoint(CostOf<&CostEstimate::per_million_output_tokens>)},
    {v1::METRIC_KV_BYTES_PER_TOKEN, Shared(MemoryOf<&MemoryUse::kv_per_token>)},
    {v1::METRIC_COMPUTE_LIMITED_TTFT_SECONDS, PerPoint(PartFieldOf<&E::kpi, &KpiMetrics::compute_limited_ttft>)},
    {v1::METRIC_BANDWIDTH_FOR_MAX_TPOT_BYTES_PER_SECOND,
     PerPoint(PartFieldOf<&E::kpi, &KpiMetrics::bandwidth_for_tpot>)},
    {v1::METRIC_PEAK_FOR_MAX_TTFT_FLOPS_PER_SECOND, PerPoint(PartFieldOf<&E::kpi, &KpiMetrics::peak_for_ttft>)},
    {v1::METRIC_PREFILL_UTILIZATION, PerPoint(PartFieldOf<&E::energy, &EnergyEstimate::prefill_utilization>)},
    {v1::METRIC_DECODE_UTILIZATION, PerPoint(PartFieldOf<&E::energy, &EnergyEstimate::decode_utilization>)},
    {v1::METRIC_SPECULATIVE_ACCEPTED_TOKENS,
     PerPoint(PartFieldOf<&E::speculation, &SpeculationEstimate::accepted_tokens>)},
    {v1::METRIC_SPECULATIVE_VERIFY_SECONDS, PerPoint(PartFieldOf<&E::speculation, &SpeculationEstimate::verify>)},
    {v1::METRIC_SPECULATIVE_DRAFT_SECONDS, PerPoint(PartFieldOf<&E::speculation, &SpeculationEstimate::draft>)},
    {v1::METRIC_TRANSFER_BYTES, PerPoint(PartFieldOf<&E::disaggregation, &DisaggregationEstimate::transfer>)},
    {v1::METRIC_EXPOSED_TRANSFER_SECONDS, PerPoint(PartFieldOf<&E::disaggregation, &DisaggregationEstimate::exposed>)},
    {v1::METRIC_PREFILL_REQUESTS_PER_SECOND,
     PerPoint(PartFieldOf<&E::disaggregation, &DisaggregationEstimate::prefill_requests_per_second>)},
    {v1::METRIC_TRANSFER_REQUESTS_PER_SECOND,
     PerPoint(PartFieldOf<&E::disaggregation, &DisaggregationEstimate::transfer_requests_per_second>)},
    {v1::METRIC_DECODE_REQUESTS_PER_SECOND,
     PerPoint(PartFieldOf<&E::disaggregation, &DisaggregationEstimate::decode_requests_per_second>)},
    {v1::METRIC_PREFILL_DEVICES, PerPoint(PartFieldOf<&E::disaggregation, &DisaggregationEstimate::prefill_devices>)},
    {v1::METRIC_PREFILL_WEIGHT_BYTES, PerPoint(PrefillPoolOf<&MemoryUse::weights>)},
    {v1::METRIC_PREFILL_KV_CACHE_BYTES, PerPoint(PrefillPoolOf<&MemoryUse::kv_cache>)},
    {v1::METRIC_PREFILL_ACTIVATION_BYTES, PerPoint(PrefillPoolOf<&MemoryUse::activations>)},
    {v1::METRIC_PREFILL_FREE_BYTES, PerPoint(PrefillPoolOf<&MemoryUse::free>)},
    {v1::METRIC_PREFILL_LARGEST_BATCH, PerPoint(PrefillPoolOf<&MemoryUse::largest_batch>)},
    {v1::METRIC_PREFILL_KV_TOKENS_CAPACITY, PerPoint(PrefillPoolOf<&MemoryUse::kv_tokens_capacity>)},
    {v1::METRIC_PREFILL_KV_BYTES_PER_TOKEN, PerPoint(PrefillPoolOf<&MemoryUse::kv_per_token>)},
    {v1::METRIC_PREFILL_COMPUTE_BOUND_BATCH, PerPoint(PrefillPoolOf<&MemoryUse::compute_bound_batch>)},
    {v1::METRIC_SLO_PROBABILITY, PerPoint(Probability)},
    {v1::METRIC_TTFT_P50_SECONDS, PerPoint(PercentileOf<&Percentiles::ttft, &SimulatedTimes::p50>)},
    {v1::METRIC_TTFT_P90_SECONDS, PerPoint(PercentileOf<&Percentiles::ttft, &SimulatedTimes::p90>)},
    {v1::METRIC_TTFT_P95_SECONDS, PerPoint(PercentileOf<&Percentiles::ttft, &SimulatedTimes::p95>)},
    {v1::METRIC_TTFT_P99_SECONDS, PerPoint(PercentileOf<&Percentiles::ttft, &SimulatedTimes::p99>)},
    {v1::METRIC_TPOT_P50_SECONDS, PerPoint(PercentileOf<&Percentiles::tpot, &SimulatedTimes::p50>)},
    {v1::METRIC_TPOT_P90_SECONDS, PerPoint(PercentileOf<&Percentiles::tpot, &SimulatedTimes::p90>)},
    {v1::METRIC_TPOT_P95_SECONDS, PerPoint(PercentileOf<&Percentiles::tpot, &SimulatedTimes::p95>)},
    {v1::METRIC_TPOT_P99_SECONDS, PerPoint(PercentileOf<&Percentiles::tpot, &SimulatedTimes::p99>)},
    {v1::METRIC_ITL_P50_SECONDS, PerPoint(PercentileOf<&Percentiles::itl, &SimulatedTimes::p50>)},
    {v1::METRIC_ITL_P90_SECONDS, PerPoint(PercentileOf<&Percentiles::itl, &SimulatedTimes::p90>)},
    {v1::METRIC_ITL_P95_SECONDS, PerPoint(PercentileOf<&Percentiles::itl, &SimulatedTimes::p95>)},
    {v1::METRIC_ITL_P99_SECONDS, PerPoint(PercentileOf<&Percentiles::itl, &SimulatedTimes::p99>)},
    {v1::METRIC_E2E_P50_SECONDS, PerPoint(PercentileOf<&Percentiles::e2e, &SimulatedTimes::p50>)},
    {v1::METRIC_E2E_P90_SECONDS, PerPoint(PercentileOf<&Percentiles::e2e, &SimulatedTimes::p90>)},
    {v1::METRIC_E2E_P95_SECONDS, PerPoint(PercentileOf<&Percentiles::e2e, &SimulatedTimes::p95>)},
    {v1::METRIC_E2E_P99_SECONDS, PerPoint(PercentileOf<&Percentiles::e2e, &SimulatedTimes::p99>)},
    {v1::METRIC_STATE_BYTES_PER_SEQUENCE, Shared(StateBytes)},
    {v1::METRIC_PREFILL_STATE_BYTES_PER_SEQUENCE, PerPoint(PrefillPoolOf<&MemoryUse::state_per_sequence>)},
};

// How many rows a metric has.
constexpr int CountRows(int metric) {
  int count = 0;
  for (const MetricRow& row : kRows) count += row.metric == metric ? 1 : 0;
  return count;
}

// The first metric without a row of its own; Metric_ARRAYSIZE: there is none.
constexpr int FirstWithoutItsRow() {
  int metric = v1::METRIC_UNSPECIFIED + 1;
  while (metric < v1::Metric_ARRAYSIZE && CountRows(metric) == 1) ++metric;
  return metric;
}
static_assert(FirstWithoutItsRow() == v1::Metric_ARRAYSIZE, "every value of v1.Metric has exactly one row in kRows");

using Readers = std::array<MetricReader, v1::Metric_ARRAYSIZE>;

constexpr Readers ByMetric() {
  Readers readers = {};
  for (const MetricRow& row : kRows) readers[static_cast<size_t>(row.metric)] = row.reader;
  return readers;
}
constexpr Readers kReaders = ByMetric();

}  // namespace

const MetricReader& ReaderOf(v1::Metric metric) { return kReaders[static_cast<size_t>(metric)]; }

}  // namespace foretoken::rpc
