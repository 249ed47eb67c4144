#include "estimator/methods/cpu_time.h"

#include <algorithm>
#include <cmath>

#include "estimator/serving/coverage.h"

namespace foretoken {
namespace {

// Everything but steps and their sums: the step model, memory, metrics, warnings. Of each model.
constexpr Seconds kRest(4e-6);
constexpr Seconds kQuantile(30e-9);        // of an output length distribution, each time that a batch's length is asked
constexpr Seconds kArrival(60e-9);         // of those that a batching window counts
constexpr Seconds kAttentionChunks(3e-6);  // a sum of decode steps over attention chunks

// The price of a whole step, and of a chunk beside others. Exponents of the roofline other than these need powers.
struct Prices {
  Seconds step, chunk;
};

Prices PricesOf(const Deployment& deployment) {
  const double s = deployment.roofline_exponent;
  const bool plain = s == 1 || s == 2 || std::isinf(s);
  return plain ? Prices{Seconds(0.3e-6), Seconds(0.07e-6)} : Prices{Seconds(1.6e-6), Seconds(0.25e-6)};
}

bool HasAttentionChunks(const Model& model) { return model.sliding_window && model.sliding_window->chunked; }

// Chunks that a sum over a prompt evaluates (phases/prefill.h).
double SummedChunks(const Scenario& s) {
  const double fresh = s.workload.fresh_tokens();
  double chunk = ChunkTokens(s.workload, s.deployment).value_or(s.live_load ? kStepTokens : s.workload.prompt_tokens);
  if (s.live_load && s.live_load->max_num_batched_tokens) {  // less what the running sequences take of it
    chunk = std::min<double>(chunk, *s.live_load->max_num_batched_tokens - s.live_load->running_sequences.value_or(0));
  }
  const double queued =
      s.live_load ? s.live_load->queued_prefill_tokens.value_or(0) + s.live_load->in_flight_prefill_tokens.value_or(0)
                  : 0;
  const double chunks = std::ceil((fresh + queued) / std::max(1.0, chunk));
  return std::min(chunks, HasAttentionChunks(*s.model) || s.workload.prefills_on_arrival() ? 256.0 : 33.0);
}

class CpuTime {
 public:
  explicit CpuTime(const Scenario& s)
      : s_(s), prices_(PricesOf(s.deployment)), models_(s.speculation ? 2 : 1), chunks_(SummedChunks(s)) {}

  // One sum over the steps of a prompt, by each model.
  Seconds Sum() const {
    return chunks_ > 1 ? models_ * (3 * prices_.step + chunks_ * prices_.chunk) : models_ * prices_.step;
  }

  // The prefill of a batch: over a pipeline, with microbatches of several sizes; of two models, each beside the other's.
  Seconds Prefill() const {
    const double sizes =
        s_.deployment.pipeline_parallel > 1 ? models_ * (2 + std::log2(1.0 + s_.workload.batch_size)) : 1;
    return (sizes + (s_.workload.prefills_on_arrival() ? 1 : 0)) * Sum();
  }

  // The decode steps of a request.
  Seconds Decode() const {
    const double drafts = s_.speculation ? std::min(8, s_.speculation->draft_tokens) : 0;
    const Seconds sum = HasAttentionChunks(*s_.model) ? kAttentionChunks : prices_.step;
    return models_ * prices_.step + (1 + drafts) * sum;
  }

  Seconds Lengths() const {
    return s_.workload.output_lengths ? static_cast<double>(s_.workload.output_lengths->quantiles.size()) * kQuantile
                                      : Seconds(0);
  }

  // The arrivals within a batching window that are counted one by one.
  Seconds Window() const {
    if (!s_.workload.batching_window || !s_.workload.request_rate_per_second) return Seconds(0);
    const double mean = *s_.workload.request_rate_per_second * s_.workload.batching_window->value();
    return 17 * std::sqrt(std::min(1000.0, mean)) * kArrival;
  }

 private:
  const Scenario& s_;
  Prices prices_;
  double models_;
  double chunks_;
};

Seconds ByPolicy(const Scenario& scenario, const CpuTime& cpu) {
  switch (PolicyOf(scenario)) {
    case Scope::kDynamic:  // bisects the batch
      return 30 * (cpu.Prefill() + cpu.Decode() + cpu.Lengths()) + cpu.Window();
    case Scope::kClosedLoop:
      return 3 * cpu.Sum() + cpu.Prefill() + 2 * cpu.Decode() + cpu.Lengths();
    case Scope::kOpenLoop:  // looks for the balance
      return 14 * (cpu.Sum() + cpu.Decode()) + cpu.Prefill() + cpu.Lengths();
    case Scope::kLiveLoad:
      return 9 * cpu.Sum() + cpu.Prefill() + 8 * cpu.Decode();
    case Scope::kDisaggregatedBatches:
    case Scope::kDisaggregatedContinuous:
      return 2 * cpu.Prefill() + 16 * cpu.Decode();
    default:
      return cpu.Prefill() + 2 * cpu.Decode() + cpu.Lengths();
  }
}

Seconds ClosedFormTime(const Scenario& scenario) {
  if (scenario.method == Method::kLinearProfile || scenario.method == Method::kKpi) return kRest;
  const double models = scenario.speculation ? 2 : 1;
  return std::min(kMostCpuTime, models * kRest + ByPolicy(scenario, CpuTime(scenario)));
}

}  // namespace

Seconds CpuTimeOf(const Scenario& scenario) {
  const double steps = FindsPercentiles(scenario) ? *scenario.slo->simulated_steps : 0;
  return ClosedFormTime(scenario) + steps * kCpuTimeOfSimulatedStep;
}

}  // namespace foretoken
