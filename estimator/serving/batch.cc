#include "estimator/serving/batch.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "estimator/phases/phases.h"
#include "estimator/scenario/output_lengths.h"

namespace foretoken {
namespace {

// How a batch runs: `count` equal batches of `sequences` per replica, one after the other.
struct SequentialBatches {
  double count = 1;
  double sequences = 1;
};

absl::StatusOr<SequentialBatches> PlanBatches(const Replica& replica, std::vector<Warning>& warnings) {
  const Capacity& capacity = replica.capacity;
  const Workload& workload = replica.scenario.workload;
  if (capacity.Fits()) return SequentialBatches{.sequences = capacity.batch};
  const bool may_wave = workload.capacity_policy == CapacityPolicy::kWaves && capacity.largest_batch >= 1;
  if (!may_wave) return OutOfMemory(replica.scenario, capacity, replica.model.machine);
  const double count = std::ceil(capacity.batch / capacity.largest_batch);
  warnings.push_back({WarningCode::kWaves,
                      absl::StrCat("batch_size ", workload.batch_size, " does not fit at once; ",
                                   capacity.largest_batch, " per replica do, so it runs in ", count, " waves"),
                      "workload.batch_size"});
  return SequentialBatches{.count = count, .sequences = std::ceil(capacity.batch / count)};
}

BatchTimes TimeBatch(const Replica& replica, const DecodePhase& decode, double sequences) {
  const double steps = BatchLength(replica.scenario.workload, sequences) - 1;
  return {.prefill = PromptPhase(replica, replica.scenario.workload, sequences),
          .decode = decode.Sum(steps),
          .decode_steps = steps};
}

// The whole work of the prefill. A request whose prompt is prefilled while it arrives waits only for the end of it.
TimeParts PrefillWork(const Replica& replica, double sequences, const TimeParts& prefill) {
  const Workload& workload = replica.scenario.workload;
  if (!workload.prefills_on_arrival()) return prefill;
  Workload whole = workload;
  whole.kv_cache_mode = KvCacheMode::kPromptCache;
  return PromptPhase(replica, whole, sequences);
}

}  // namespace

TimeParts PromptPhase(const Replica& replica, const Workload& workload, double sequences) {
  const Deployment& deployment = replica.scenario.deployment;
  TimeParts parts = PrefillPhase(replica.model, workload, deployment, sequences);
  if (replica.speculator == nullptr) return parts;
  return parts + PrefillTime(replica.speculator->draft, PromptShape(workload, deployment, sequences));
}

void FillPrompts(const Replica& replica, double together, Served& served) {
  const Workload& workload = replica.scenario.workload;
  served.prefilled = together;
  served.prefill = served.prefill_work = PromptPhase(replica, workload, together);
  if (!workload.prefix_load) return;
  Workload resident = workload;
  resident.prefix_load.reset();
  served.prefill = PromptPhase(replica, resident, together);
  served.prefill.communication += PrefixLoad(replica.model, workload, 1);
}

SpeculationEstimate MeanRound(const Replica& replica, double sequences, double decode_steps) {
  const Speculator& speculator = *replica.speculator;
  const double prompt = std::max(1, replica.scenario.workload.prompt_tokens);
  const double steps = std::max(1.0, decode_steps);
  const double microbatch = std::ceil(sequences / replica.model.shard.stages);
  const SpeculativeCurve curve(replica.model, speculator, microbatch);
  const double rounds = Rounds(&speculator, steps);
  return {.accepted_tokens = speculator.accepted,
          .verify = curve.Verify(prompt + 1, prompt + steps).Total() / rounds,
          .draft = curve.Draft(prompt + 1, prompt + steps).Total() / rounds};
}

BatchTimes TimeBatch(const Replica& replica, double sequences) {
  return TimeBatch(replica, DecodePhase(replica.model, replica.scenario.workload, sequences, replica.speculator),
                   sequences);
}

Served ServedAlone(const Replica& replica, double sequences) {
  const DecodePhase decode(replica.model, replica.scenario.workload, sequences, replica.speculator);
  const BatchTimes batch = TimeBatch(replica, decode, sequences);
  Served served{.prefill = batch.prefill,
                .decode = batch.decode,
                .decode_steps = batch.decode_steps,
                .running = sequences,
                .held = sequences,
                .read = sequences,
                .prefilled = sequences,
                .prefill_work = PrefillWork(replica, sequences, batch.prefill)};
  if (replica.steps_wanted) served.step = [decode](double j) { return decode.Step(j); };
  if (replica.speculator != nullptr) served.round = MeanRound(replica, sequences, batch.decode_steps);
  return served;
}

absl::StatusOr<Served> ServeStatic(const Replica& replica, std::vector<Warning>& warnings) {
  const absl::StatusOr<SequentialBatches> batches = PlanBatches(replica, warnings);
  if (!batches.ok()) return batches.status();
  Served served = ServedAlone(replica, batches->sequences);
  const Seconds one = served.prefill.Total() + served.decode.Total();
  served.waves = batches->count;
  served.prefill.queueing += (batches->count - 1) * one;
  served.requests_per_second = replica.scenario.workload.batch_size / (batches->count * one.value());
  return served;
}

}  // namespace foretoken
