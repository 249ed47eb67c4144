#include "server/rpc/sweep/sweep_metric.h"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>

namespace foretoken::rpc {
namespace {

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

double Figure(const std::optional<double>& value) { return value.value_or(kUnknown); }
double Figure(const std::optional<Bytes>& value) { return value ? value->value() : kUnknown; }

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
  return e.memory ? Figure((*e.memory).*kField) : kUnknown;
}

template <double Throughput::*kField>
double ThroughputOf(const Estimate& e) {
  return e.throughput.*kField;
}

using E = Estimate;
using P = TimeParts;
using B = OutputBlock;

// The same at every output length.
constexpr MetricReader Shared(FigureReader of) { return {of, RowShape::kShared, nullptr}; }
// Where the row has no column of it.
constexpr MetricReader PerPoint(FigureReader of) { return {of, RowShape::kPerPoint, nullptr}; }
constexpr MetricReader Column(FigureReader of, ColumnWriter column) { return {of, RowShape::kColumn, column}; }

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

template <void (OutputRow::*kFigure)(const B&, double*) const>
void RowFigure(const OutputRow& row, const B& block, double* out) {
  (row.*kFigure)(block, out);
}

void PerUser(const OutputRow&, const B& block, double* out) {
  for (int i = 0; i < block.count; ++i) out[i] = 1 / block.tpot[i];
}

constexpr std::array<MetricReader, v1::Metric_ARRAYSIZE> kReaders = {
    Shared(+[](const E&) { return kUnknown; }),
    Shared(+[](const E& e) { return e.ttft.time.value(); }),
    Column(
        +[](const E& e) { return e.tpot.time.value(); }, Copy<&B::tpot>),
    Column(
        +[](const E& e) { return e.e2e.time.value(); }, Copy<&B::e2e>),
    Shared(BandEnd<&E::ttft, &Band::low>),
    Shared(BandEnd<&E::ttft, &Band::high>),
    PerPoint(BandEnd<&E::tpot, &Band::low>),
    PerPoint(BandEnd<&E::tpot, &Band::high>),
    PerPoint(BandEnd<&E::e2e, &Band::low>),
    PerPoint(BandEnd<&E::e2e, &Band::high>),
    Column(
        +[](const E& e) { return e.decode_steps; }, Copy<&B::decode_steps>),
    Column(ThroughputOf<&Throughput::output_tokens_per_second>, Copy<&B::output_tokens_per_second>),
    Column(ThroughputOf<&Throughput::output_tokens_per_second_per_device>,
           Copy<&B::output_tokens_per_second_per_device>),
    Column(ThroughputOf<&Throughput::output_tokens_per_second_per_user>, PerUser),
    Column(ThroughputOf<&Throughput::requests_per_second>, Copy<&B::requests_per_second>),
    Shared(PartOf<&E::prefill, &P::compute>),
    Shared(PartOf<&E::prefill, &P::memory>),
    Shared(PartOf<&E::prefill, &P::communication>),
    Shared(PartOf<&E::prefill, &P::host>),
    Shared(PartOf<&E::prefill, &P::queueing>),
    DecodePart<&P::compute, &TimePartsColumns::compute>(),
    DecodePart<&P::memory, &TimePartsColumns::memory>(),
    DecodePart<&P::communication, &TimePartsColumns::communication>(),
    DecodePart<&P::host, &TimePartsColumns::host>(),
    DecodePart<&P::queueing, &TimePartsColumns::queueing>(),
    Shared(MemoryOf<&MemoryUse::weights>),
    Column(MemoryOf<&MemoryUse::kv_cache>, RowFigure<&OutputRow::KvCacheBytes>),
    Shared(MemoryOf<&MemoryUse::activations>),
    Column(OptionalMemoryOf<&MemoryUse::free>, RowFigure<&OutputRow::FreeBytes>),
    Column(OptionalMemoryOf<&MemoryUse::largest_batch>, RowFigure<&OutputRow::LargestBatches>),
    Shared(OptionalMemoryOf<&MemoryUse::kv_tokens_capacity>),
    PerPoint(OptionalMemoryOf<&MemoryUse::compute_bound_batch>),
    Column(
        +[](const E& e) { return Figure(e.mbu); }, RowFigure<&OutputRow::Mbu>),
    Shared(+[](const E& e) { return Figure(e.mfu); }),
    PerPoint(+[](const E& e) { return e.slo ? Figure(e.slo->headroom) : kUnknown; }),
    Shared(+[](const E& e) { return static_cast<double>(e.waves); }),
    Shared(+[](const E& e) { return static_cast<double>(e.devices); }),
    PerPoint(+[](const E& e) { return e.energy ? e.energy->joules_per_request : kUnknown; }),
    PerPoint(+[](const E& e) { return e.energy ? e.energy->joules_per_output_token : kUnknown; }),
    PerPoint(+[](const E& e) { return e.cost ? e.cost->per_request : kUnknown; }),
    PerPoint(+[](const E& e) { return e.cost ? e.cost->per_million_output_tokens : kUnknown; }),
};

}  // namespace

const MetricReader& ReaderOf(v1::Metric metric) { return kReaders[static_cast<size_t>(metric)]; }

}  // namespace foretoken::rpc
