#include "estimator/serving/disaggregated.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "estimator/phases/memory_use.h"
#include "estimator/phases/phases.h"
#include "estimator/serving/queueing.h"
#include "estimator/serving/rising_zero.h"

namespace foretoken {
namespace {

struct Transfer {
  Bytes bytes;  // of the prompts that are sent together
  Seconds whole;
  Seconds exposed;
};

Transfer TransferOf(const Replica& replica, Seconds prefill) {
  const PrefillPool& pool = *replica.prefill_pool;
  const Disaggregation& d = *replica.scenario.disaggregation;
  Transfer transfer{.bytes = d.batch_size * TransferredKv(*replica.scenario.model, d.deployment.kv_cache_dtype,
                                                          replica.scenario.workload.prompt_tokens)};
  if (!(pool.transfer.value() > 0)) return transfer;
  const Seconds moving = transfer.bytes / pool.transfer;
  transfer.whole = pool.latency + moving;
  transfer.exposed = pool.latency + ExposedTransfer(moving, prefill, pool.model.shard.layers, d.layerwise_transfer);
  return transfer;
}

// Replicas of both pools; each data-parallel replica counts.
struct Replicas {
  double prefill = 1;
  double decode = 1;

  double Links() const { return std::min(prefill, decode); }
};

Replicas ReplicasOf(const Scenario& scenario) {
  const Disaggregation& d = *scenario.disaggregation;
  return {.prefill = static_cast<double>(d.prefill_replicas) * d.deployment.data_parallel,
          .decode = static_cast<double>(d.decode_replicas) * scenario.deployment.data_parallel};
}

// A decode replica while `running` sequences are on it.
struct Decoding {
  double running = 0;
  DecodeCurve curve;
  TimeParts all;  // decode steps of a request

  Decoding(const Replica& replica, double sequences, double microbatch)
      : running(sequences), curve(replica.model, microbatch) {
    const Workload& w = replica.scenario.workload;
    all = curve.Sum(w.prompt_tokens + 1.0, w.prompt_tokens + w.output_tokens - 1.0);
  }
};

// The decode pool at the requested batch; with an arrival rate, at the largest batch that memory holds.
absl::StatusOr<Decoding> FullDecode(const Replica& replica) {
  const bool open = replica.scenario.workload.request_rate_per_second.has_value();
  const double full = open ? MostRunning(replica) : replica.capacity.batch;
  if (full < 1 || (!open && !replica.capacity.Fits())) {
    return OutOfMemory(replica.scenario, replica.capacity, replica.model.machine);
  }
  return Decoding(replica, full, std::ceil(full / replica.model.shard.stages));
}

// The decode pool at the batch that `rate` requests per second and replica keep up: an arrival joins the mean batch.
Decoding BalancedDecode(const Replica& replica, double most, double rate) {
  constexpr double kClose = 1e-7;
  const auto at = [&](double decoding) {
    const double running = std::min(most, decoding + 1);
    return Decoding(replica, running, std::max(1.0, running / replica.model.shard.stages));
  };
  constexpr int kHalvings = 100;  // more than the widest range of sequences needs
  const auto excess = [&](double decoding) { return decoding - rate * at(decoding).all.Total().value(); };
  double low = 0;
  double high = most;
  RisingZero zero(excess, low, high);
  const double at_most = excess(most);
  zero.Narrow(most - at_most, at_most, kClose / 1e3);
  for (int i = 0; i < kHalvings && high - low > kClose * (1 + low); ++i) {
    const double middle = (low + high) / 2;
    (zero.IsBelow(middle) ? low : high) = middle;
  }
  return at(high);
}

// The slowest part and its rate; a tie goes to the earlier one.
DisaggregationLimit LimitOf(const DisaggregationEstimate& e, double& rate) {
  DisaggregationLimit limit = DisaggregationLimit::kPrefill;
  rate = e.prefill_requests_per_second;
  const auto consider = [&](std::optional<double> part, DisaggregationLimit candidate) {
    if (!part || *part >= rate) return;
    rate = *part;
    limit = candidate;
  };
  consider(e.transfer_requests_per_second, DisaggregationLimit::kTransfer);
  consider(e.decode_requests_per_second, DisaggregationLimit::kDecode);
  return limit;
}

const char* NameOf(DisaggregationLimit limit) {
  if (limit == DisaggregationLimit::kTransfer) return "transfer";
  return limit == DisaggregationLimit::kDecode ? "decode" : "prefill";
}

// The work of the prefill pool for one batch of prompts. The tokenizer does not run on its devices.
TimeParts PrefillWork(const PrefillPool& pool) {
  Workload w = pool.scenario.workload;
  w.tokenizer_tokens_per_second = std::numeric_limits<double>::infinity();
  return PrefillPhase(pool.model, w, pool.scenario.deployment, pool.capacity.batch);
}

DisaggregationEstimate PoolsOf(const Replica& replica, const Transfer& transfer, Seconds prefill_work,
                               const Decoding& full) {
  const PrefillPool& pool = *replica.prefill_pool;
  const Disaggregation& d = *replica.scenario.disaggregation;
  const Replicas replicas = ReplicasOf(replica.scenario);
  DisaggregationEstimate pools{
      .transfer = transfer.bytes,
      .exposed = transfer.exposed,
      .prefill_requests_per_second = replicas.prefill * d.batch_size / prefill_work.value(),
      .prefill_memory = MemoryOf(pool.scenario, pool.model, pool.capacity, pool.capacity.batch, pool.capacity.batch),
      .prefill_devices = d.prefill_replicas * pool.scenario.deployment.devices()};
  if (transfer.whole.value() > 0) {
    pools.transfer_requests_per_second = replicas.Links() * d.batch_size / transfer.whole.value();
  }
  if (replica.scenario.workload.output_tokens > 1) {
    pools.decode_requests_per_second = replicas.decode * full.running / full.all.Total().value();
  }
  return pools;
}

// What a request meets: prefill and transfer without waiting, and decode in the given batch.
Served ServedAt(const Replica& replica, const Decoding& decoding, const TimeParts& prefill_work,
                const Transfer& transfer) {
  const PrefillPool& pool = *replica.prefill_pool;
  const Workload& w = replica.scenario.workload;
  Served served{
      .prefill = PrefillPhase(pool.model, pool.scenario.workload, pool.scenario.deployment, pool.capacity.batch),
      .decode = decoding.all,
      .decode_steps = w.output_tokens - 1.0,
      .running = decoding.running,
      .held = w.request_rate_per_second ? HeldHalfway(w, decoding.running) : decoding.running,
      .read = decoding.running,
      .prefilled = pool.capacity.batch,
      .prefill_work = prefill_work,
      .step = [curve = decoding.curve, prompt = w.prompt_tokens](double j) { return curve.Step(prompt + j); }};
  served.prefill.communication += transfer.exposed;
  return served;
}

}  // namespace

absl::StatusOr<Served> ServeDisaggregated(const Replica& replica) {
  const Scenario& scenario = replica.scenario;
  const absl::StatusOr<Decoding> full = FullDecode(replica);
  if (!full.ok()) return full.status();
  const TimeParts parts = PrefillWork(*replica.prefill_pool);
  const Seconds work = parts.Total();
  const Transfer transfer = TransferOf(replica, work);
  DisaggregationEstimate pools = PoolsOf(replica, transfer, work, *full);
  double stable = 0;
  pools.limit = LimitOf(pools, stable);
  const std::optional<double> requested = scenario.workload.request_rate_per_second;
  if (requested && !(*requested < stable)) {
    return Unstable(scenario, absl::StrCat("the ", NameOf(pools.limit), " side"), stable);
  }
  const Replicas replicas = ReplicasOf(scenario);
  Served served =
      ServedAt(replica, requested ? BalancedDecode(replica, full->running, *requested / replicas.decode) : *full, parts,
               transfer);
  served.requests_per_second = requested.value_or(stable);
  if (requested) {
    served.prefill.queueing +=
        MeanWait(*requested / replicas.prefill, work) + MeanWait(*requested / replicas.Links(), transfer.whole);
  }
  served.disaggregation = pools;
  return served;
}

}  // namespace foretoken
