#include "server/rpc/sweep_metric.h"

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
constexpr std::array<MetricReader, v1::Metric_ARRAYSIZE> kReaders = {
    +[](const E&) { return kUnknown; },
    +[](const E& e) { return e.ttft.time.value(); },
    +[](const E& e) { return e.tpot.time.value(); },
    +[](const E& e) { return e.e2e.time.value(); },
    BandEnd<&E::ttft, &Band::low>,
    BandEnd<&E::ttft, &Band::high>,
    BandEnd<&E::tpot, &Band::low>,
    BandEnd<&E::tpot, &Band::high>,
    BandEnd<&E::e2e, &Band::low>,
    BandEnd<&E::e2e, &Band::high>,
    +[](const E& e) { return e.decode_steps; },
    ThroughputOf<&Throughput::output_tokens_per_second>,
    ThroughputOf<&Throughput::output_tokens_per_second_per_device>,
    ThroughputOf<&Throughput::output_tokens_per_second_per_user>,
    ThroughputOf<&Throughput::requests_per_second>,
    PartOf<&E::prefill, &P::compute>,
    PartOf<&E::prefill, &P::memory>,
    PartOf<&E::prefill, &P::communication>,
    PartOf<&E::prefill, &P::host>,
    PartOf<&E::prefill, &P::queueing>,
    PartOf<&E::decode, &P::compute>,
    PartOf<&E::decode, &P::memory>,
    PartOf<&E::decode, &P::communication>,
    PartOf<&E::decode, &P::host>,
    PartOf<&E::decode, &P::queueing>,
    MemoryOf<&MemoryUse::weights>,
    MemoryOf<&MemoryUse::kv_cache>,
    MemoryOf<&MemoryUse::activations>,
    OptionalMemoryOf<&MemoryUse::free>,
    OptionalMemoryOf<&MemoryUse::largest_batch>,
    OptionalMemoryOf<&MemoryUse::kv_tokens_capacity>,
    OptionalMemoryOf<&MemoryUse::compute_bound_batch>,
    +[](const E& e) { return Figure(e.mbu); },
    +[](const E& e) { return Figure(e.mfu); },
    +[](const E& e) { return e.slo ? Figure(e.slo->headroom) : kUnknown; },
    +[](const E& e) { return static_cast<double>(e.waves); },
    +[](const E& e) { return static_cast<double>(e.devices); },
    +[](const E& e) { return e.energy ? e.energy->joules_per_request : kUnknown; },
    +[](const E& e) { return e.energy ? e.energy->joules_per_output_token : kUnknown; },
    +[](const E& e) { return e.cost ? e.cost->per_request : kUnknown; },
    +[](const E& e) { return e.cost ? e.cost->per_million_output_tokens : kUnknown; },
};

}  // namespace

MetricReader ReaderOf(v1::Metric metric) { return kReaders[static_cast<size_t>(metric)]; }

}  // namespace foretoken::rpc
