// The result of an estimate. Mirrors foretoken.v1.Estimate; what a method does not model is absent.
#ifndef FORETOKEN_ESTIMATOR_SCENARIO_ESTIMATE_H_
#define FORETOKEN_ESTIMATOR_SCENARIO_ESTIMATE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "estimator/base/units.h"
#include "estimator/scenario/scenario.h"

namespace foretoken {

// Same order and numbers as foretoken.v1.Provenance, Bound, Verdict and WarningCode.
enum class Provenance { kUnspecified, kCalibrated, kTransferred, kDatasheet, kSpeedOfLight };
enum class Bound { kUnspecified, kCompute, kMemory, kCommunication, kHost, kQueueing };
enum class Verdict { kUnspecified, kFeasible, kInfeasible, kUnknown, kMarginal };
enum class WarningCode {
  kUnspecified,
  kPeakSubstituted,
  kContextTooLong,
  kHeadsPadded,
  kExtrapolated,
  kStaleLoad,
  kStaleCatalog,
  kFigureAbsent,
  kWaves,
  kNotUsed,
  kPcieLink,
};

struct Warning {
  WarningCode code = WarningCode::kUnspecified;
  std::string message;
  std::string field;

  bool operator==(const Warning&) const = default;
};

// Warns kContextTooLong where prompt and output together exceed the context length of the model.
void WarnOfContext(const Model& model, const Workload& workload, std::vector<Warning>& warnings);

// A time split by what it is spent on. The parts sum to Total().
struct TimeParts {
  Seconds compute, memory, communication, host, queueing;

  Seconds Total() const { return compute + memory + communication + host + queueing; }
  // The largest part; a tie goes to the earlier one.
  Bound LargestPart() const;
  TimeParts& operator+=(const TimeParts& other) {
    compute += other.compute;
    memory += other.memory;
    communication += other.communication;
    host += other.host;
    queueing += other.queueing;
    return *this;
  }
  friend TimeParts operator+(TimeParts a, const TimeParts& b) { return a += b; }
  friend TimeParts operator*(const TimeParts& a, double k) {
    return {a.compute * k, a.memory * k, a.communication * k, a.host * k, a.queueing * k};
  }

  bool operator==(const TimeParts&) const = default;
};

struct Band {
  double low = 0;
  double high = 0;
  double coverage = 0;

  bool operator==(const Band&) const = default;
};

struct TimeEstimate {
  Seconds time;
  std::optional<Band> band;

  bool operator==(const TimeEstimate&) const = default;
};

struct Phase {
  Seconds time;
  std::optional<TimeParts> parts;  // sums to time
  Bound bound = Bound::kUnspecified;
  Provenance provenance = Provenance::kUnspecified;

  bool operator==(const Phase&) const = default;
};

// Fills a phase from its parts: the time is their sum, the bound the largest. In place, because every estimate has two.
inline void FillPhase(const TimeParts& parts, Provenance provenance, Phase& phase) {
  phase.time = parts.Total();
  phase.parts = parts;
  phase.bound = parts.LargestPart();
  phase.provenance = provenance;
}

struct Throughput {
  double output_tokens_per_second = 0;
  double output_tokens_per_second_per_device = 0;
  double output_tokens_per_second_per_user = 0;
  double requests_per_second = 0;

  bool operator==(const Throughput&) const = default;
};

// Throughput of a deployment of `devices`, where each request generates `output_tokens`.
Throughput ThroughputOf(double requests_per_second, double output_tokens, int devices, Seconds tpot);

// Memory of one device, except where said.
struct MemoryUse {
  Bytes weights;
  Bytes kv_cache;
  Bytes activations;
  std::optional<Bytes> free;
  std::optional<double> largest_batch;       // over all replicas
  std::optional<double> kv_tokens_capacity;  // over one replica
  Bytes kv_per_token;                        // over all devices of one replica
  std::optional<double> compute_bound_batch;
  std::optional<Bytes> state_per_sequence;  // likewise; absent: no layer has a state

  bool operator==(const MemoryUse&) const = default;
};

// Metrics that the KPI method alone reports.
struct KpiMetrics {
  Seconds compute_limited_ttft;                      // if arithmetic alone limited the prefill
  std::optional<BytesPerSecond> bandwidth_for_tpot;  // peak bandwidth that the SLO needs
  std::optional<FlopsPerSecond> peak_for_ttft;       // likewise, if arithmetic alone limited the prefill

  bool operator==(const KpiMetrics&) const = default;
};

// A figure of a simulation.
struct SimulatedValue {
  double value = 0;
  std::optional<double> error;  // standard error; absent below two values a batch (simulation/statistics.h)

  bool operator==(const SimulatedValue&) const = default;
};

// Seconds.
struct SimulatedTimes {
  SimulatedValue mean, p50, p90, p95, p99;

  bool operator==(const SimulatedTimes&) const = default;
};

// Latencies over requests, from a simulation of the workload.
struct Percentiles {
  std::optional<SimulatedTimes> ttft, tpot, itl, e2e;  // absent: there are none of them
  int64_t requests = 0;                                // counted

  bool operator==(const Percentiles&) const = default;
};

struct SloVerdict {
  Verdict verdict = Verdict::kUnspecified;
  std::optional<double> headroom;
  std::optional<double> probability;

  bool operator==(const SloVerdict&) const = default;
};

// A speculative step, averaged over the decode: TPOT = (verify + draft) / accepted_tokens.
struct SpeculationEstimate {
  double accepted_tokens = 1;
  Seconds verify;
  Seconds draft;

  bool operator==(const SpeculationEstimate&) const = default;
};

enum class DisaggregationLimit { kUnspecified, kPrefill, kTransfer, kDecode };

// Prefill and decode on pools of their own: what is sent between them, and the highest request rate of each.
struct DisaggregationEstimate {
  Bytes transfer;   // KV cache of the prompts that are sent together
  Seconds exposed;  // the part of its time that TTFT includes
  double prefill_requests_per_second = 0;
  std::optional<double> transfer_requests_per_second;  // absent: it takes no time
  std::optional<double> decode_requests_per_second;    // absent: there is no decode step
  DisaggregationLimit limit = DisaggregationLimit::kUnspecified;
  MemoryUse prefill_memory;
  int prefill_devices = 0;  // of all prefill replicas

  bool operator==(const DisaggregationEstimate&) const = default;
};

// Energy of the devices that serve one request, from their stated watts.
struct EnergyEstimate {
  double joules_per_request = 0;
  double joules_per_output_token = 0;
  double prefill_utilization = 0;  // the larger of the compute and the memory share of the phase's time
  double decode_utilization = 0;
  bool is_lower_bound = false;  // a device states no idle power: counted as 0

  bool operator==(const EnergyEstimate&) const = default;
};

// In the currency of the deployment's price.
struct CostEstimate {
  double per_request = 0;
  double per_million_output_tokens = 0;

  bool operator==(const CostEstimate&) const = default;
};

// One operator of one step, summed over layers; for explain.
struct OperatorEstimate {
  std::string name;
  double count = 0;
  Flops flops;
  Bytes bytes;
  Bytes communication_bytes;
  TimeParts parts;
  std::string formula;
  std::vector<std::pair<std::string, double>> inputs;

  bool operator==(const OperatorEstimate&) const = default;
};

struct Estimate {
  Method method = Method::kOperatorModel;
  TimeEstimate ttft;
  TimeEstimate tpot;
  TimeEstimate e2e;
  double decode_steps = 0;
  bool tpot_is_next_step = false;
  Throughput throughput;
  Phase prefill;
  Phase decode;
  std::optional<MemoryUse> memory;
  std::optional<double> mbu;
  std::optional<double> mfu;
  std::optional<Percentiles> percentiles;
  std::optional<SloVerdict> slo;
  std::optional<SpeculationEstimate> speculation;
  std::optional<DisaggregationEstimate> disaggregation;
  std::optional<EnergyEstimate> energy;
  std::optional<CostEstimate> cost;
  int waves = 1;
  int devices = 1;
  std::string calibration_id;
  std::vector<Warning> warnings;
  std::vector<OperatorEstimate> prefill_operators;
  std::vector<OperatorEstimate> decode_operators;
  std::vector<Seconds> token_latencies;
  std::optional<KpiMetrics> kpi;

  bool operator==(const Estimate&) const = default;
};

// What to return beyond the breakdown. Both cost time and memory.
struct Detail {
  bool operators = false;
  bool token_latencies = false;
};

}  // namespace foretoken

#endif  // FORETOKEN_ESTIMATOR_SCENARIO_ESTIMATE_H_
