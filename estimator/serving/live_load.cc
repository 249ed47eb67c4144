#include "estimator/serving/live_load.h"

#include <algorithm>
#include <cmath>

#include "estimator/phases/decode.h"
#include "estimator/phases/mixed_prefill.h"
#include "estimator/phases/phases.h"
#include "estimator/serving/prompt_plan.h"
#include "estimator/serving/replica_queue.h"

namespace foretoken {
namespace {

// The replica, whose engine works through the queue.
class Engine {
 public:
  Engine(const Replica& replica, const ReplicaQueue& queue)
      : model_(replica.model), w_(replica.scenario.workload), deployment_(replica.scenario.deployment), b_(queue) {
    deployment_.prefill_chunk_tokens = static_cast<int>(b_.step_tokens);
    // A server that is under a load takes requests in as one that batches continuously, whatever the policy that was
    // asked for.
    if (StatesPresent(*replica.scenario.live_load)) w_.batching = BatchingPolicy::kContinuous;
  }

  double Stages() const { return model_.shard.stages; }

  // `running` of the sequences that run now, and `joined` sequences whose prompts were prefilled since.
  CoScheduledDecodes Beside(double running, double joined) const {
    return Beside(running, b_.context, joined, w_.prompt_tokens);
  }
  // The same at these contexts.
  CoScheduledDecodes Beside(double running, double context, double joined, double joined_context) const {
    const double decodes = running + joined;
    if (decodes <= 0) return {};
    return {.sequences = decodes / Stages(), .context = (running * context + joined * joined_context) / decodes};
  }

  // A prompt's steps with these co-scheduled decodes.
  MixedPrefill Mix(const PrefillShape& shape, const CoScheduledDecodes& decodes) const {
    return MixPrefill(model_, shape, decodes);
  }

  // The time of those steps alone.
  Seconds Steps(const PrefillShape& shape, const CoScheduledDecodes& decodes) const {
    return MixedSteps(model_, shape, decodes);
  }

  // The steps of all these prompts.
  Seconds Drain(const Packing& packing, const CoScheduledDecodes& decodes) const {
    return packing.groups <= 0 ? Seconds(0) : packing.groups * Steps(packing.group, decodes) / Stages();
  }

  // The request's own prefill, `together` with the requests that arrive with it.
  TimeParts OwnPrefill(double together) const { return PrefillPhase(model_, w_, deployment_, together); }

  // `steps` decode steps of `sequences`, the first at `context` + 1.
  TimeParts Decode(double sequences, double context, double steps) const {
    if (steps <= 0) return {};
    return DecodeCurve(model_, Batch(sequences)).Sum(std::round(context) + 1, std::round(context) + steps);
  }

  // Sequences of one stage; a mean number lies between the values of the whole numbers around it.
  double Batch(double sequences) const {
    const double fewer = std::floor(sequences);
    const double batch = std::ceil(fewer / Stages());
    return batch + (sequences - fewer) * (std::ceil((fewer + 1) / Stages()) - batch);
  }

 private:
  const StepModel& model_;
  Workload w_;
  Deployment deployment_;
  ReplicaQueue b_;
};

// The batch in which the request decodes: the running sequences, which complete one by one, and those that joined.
struct SharedBatch {
  Completions completions{0, {}};
  double before = 0;  // steps until the request decodes
  double shared = 0;  // steps of its decode until the last running sequence completes
  double running_context = 0;
  double joined = 0;  // the request included
  double prompt = 0;

  // Mean running sequences in steps `first` + 1 to `last` of the decode.
  double Running(double first, double last) const { return completions.MeanLeft(before + first, before + last); }
  // These steps, all shared: the mean number of sequences at their mean context.
  TimeParts Together(const Engine& engine, double first, double last) const {
    const double running = Running(first, last);
    const double mean = (running * running_context + joined * prompt) / (running + joined);
    // Over a pipeline the request may be alone in its microbatch: it then sees its own context, not the mean.
    const double context = std::max(mean, prompt / engine.Batch(running + joined));
    return engine.Decode(running + joined, context + first, last - first);
  }
  // Shared steps in two halves, because the time of a step is not linear in the sequences.
  TimeParts Sum(const Engine& engine, double steps) const {
    const double together = std::min(steps, shared);
    const double half = std::floor(together / 2);
    return Together(engine, 0, half) + Together(engine, half, together) +
           engine.Decode(joined, prompt + together, steps - together);
  }
  TimeParts Step(const Engine& engine, double j) const {
    return j <= shared ? Together(engine, j - 1, j) : engine.Decode(joined, prompt + j - 1, 1);
  }
};

SharedBatch SharedBatchOf(const ReplicaQueue& b, const BatchSlots& slots, const PromptPlan& plan, double prompt) {
  const double before = plan.Before();
  const Completions completions = b.WhenTheyEnd();
  SharedBatch shared{.completions = completions, .before = before, .running_context = b.context + before};
  shared.shared = std::max(0.0, std::round(completions.Last() - before));
  shared.prompt = prompt;
  shared.joined =
      (b.in_flight.count + b.waiting.count - plan.sharing) * plan.Stay(plan.begins) + plan.sharing + b.arriving.count;
  if (slots.must_wait) shared.joined = std::min(shared.joined, slots.Joined(b.running, completions.Left(before)));
  return shared;
}

// The time of the prompts before the request, if all have a batch slot.
Seconds Queue(const Engine& engine, const ReplicaQueue& b, const PromptPlan& plan) {
  const Completions completions = b.WhenTheyEnd();
  const double first = plan.in_flight.Steps();
  // Prompts of them that decode already: half of the others, less their completions.
  const auto drain = [&](const Packing& prompts, double running, double before) {
    if (prompts.groups <= 0) return Seconds(0);
    const double stay = plan.Stay(prompts.Steps());
    const double others = prompts.group.sequences * (prompts.groups - 1) * stay * (1 - stay / 2);
    return engine.Drain(prompts, engine.Beside(running, before * stay + others));
  };
  const Seconds queue = drain(plan.in_flight, completions.MeanLeft(0, first), 0) +
                        drain(plan.waiting, completions.MeanLeft(first, plan.Queued()), b.in_flight.count);
  if (b.running <= 0) return queue;
  return queue + engine.Decode(b.running, b.context, 1).Total() / (2 * engine.Stages());
}

// The same if some have no batch slot: all slots are taken until the request's is free, in steps with those prompts and
// in steps without them. On average, running sequences have made half of those steps' tokens, and so have sequences
// that joined, up to their whole output. Prompts that last longer than the wait have their other steps as in `queue`.
Seconds SlotWait(const Engine& engine, const ReplicaQueue& b, const BatchSlots& slots, const PromptPlan& plan,
                 const Workload& w, Seconds queue) {
  if (!slots.must_wait) return queue;
  const Completions completions = b.WhenTheyEnd();
  const double running = std::min(slots.taken, completions.MeanLeft(0, slots.steps));
  const double context = b.context + std::min(slots.steps, completions.Last()) / 2;
  const double joined_context = w.prompt_tokens + std::min<double>(slots.steps, w.output_tokens) / 2;
  const CoScheduledDecodes all = engine.Beside(running, context, slots.taken - running, joined_context);
  const auto drain = [&](const Packing& prompts) {
    CoScheduledDecodes decodes = all;
    decodes.sequences = std::max(0.0, all.sequences - prompts.group.sequences / engine.Stages());
    return engine.Drain(prompts, decodes);
  };
  const double others = std::max(0.0, slots.steps - plan.Queued());
  const Seconds wait =
      drain(plan.in_flight) + drain(plan.waiting) + others * engine.Decode(slots.taken, all.context, 1).Total();
  const double share = slots.steps < plan.Queued() ? slots.steps / plan.Queued() : 1;
  return std::max(queue, share * wait + (1 - share) * queue);
}

// A step does not overtake the step before it in the pipeline: if that one is longer, the request's step waits for it.
Seconds Behind(const Engine& engine, const BatchSlots& slots, const PromptPlan& plan, const PrefillShape& own,
               const CoScheduledDecodes& decodes) {
  const Packing& before = plan.waiting.groups > 0 ? plan.waiting : plan.in_flight;
  if (engine.Stages() <= 1 || before.groups <= 0 || slots.steps > plan.Queued()) return Seconds(0);
  const auto step = [&](const PrefillShape& shape) { return engine.Steps(shape, decodes) / PrefillChunks(shape); };
  return (1 - 1 / engine.Stages()) * std::max(Seconds(0), step(before.group) - step(own));
}

// The wait before the request's own prefill, and the time that co-scheduled work adds to that prefill.
Seconds WaitsBefore(const Engine& engine, const ReplicaQueue& b, const BatchSlots& slots, const PromptPlan& plan,
                    const Workload& w, double together) {
  const double running = b.WhenTheyEnd().MeanLeft(plan.begins, plan.Before());
  const double joined = std::max(0.0, together - plan.sharing - b.arriving.count);
  const CoScheduledDecodes decodes = engine.Beside(running, joined);
  const MixedPrefill own = engine.Mix(plan.own.group, decodes);
  const PrefillShape shared = plan.SharedGroup(b.waiting.tokens);
  const Seconds wait = SlotWait(engine, b, slots, plan, w, Queue(engine, b, plan)) +
                       Behind(engine, slots, plan, shared, decodes) +
                       (plan.own.groups - 1) * own.steps / engine.Stages() + own.from_decodes;
  if (plan.sharing <= 0) return wait;
  return wait + std::max(Seconds(0), engine.Steps(shared, decodes) - own.steps);
}

// Over `steps` decode steps, at least 1.
RunningBatches RunningBatchesOf(const SharedBatch& batch, double steps) {
  const double together = std::min(steps, batch.shared);
  const double half = std::floor(together / 2);
  const auto between = [&](double first, double last) {
    const double running = batch.Running(first, last);
    return RunningBatch{.share = (last - first) / steps,
                        .running = running + batch.joined,
                        .read = batch.joined,
                        .others = running,
                        .others_context = batch.running_context + first};
  };
  const RunningBatch alone{.share = 1 - together / steps, .running = batch.joined, .read = batch.joined};
  return {between(0, half), between(half, together), alone};
}

}  // namespace

absl::StatusOr<Served> ServeLiveLoad(const Replica& replica, std::vector<Warning>& warnings) {
  const Workload& w = replica.scenario.workload;
  if (replica.capacity.largest_batch < 1) {
    return OutOfMemory(replica.scenario, replica.capacity, replica.model.machine);
  }
  ReplicaQueue queue = ReadReplicaQueue(replica, warnings);
  const absl::StatusOr<BatchSlots> slots = TakeBatchSlots(replica, queue, warnings);
  if (!slots.ok()) return slots.status();
  const Engine engine(replica, queue);
  const PromptPlan plan = PlanPrompts(queue, slots->steps, w, engine.Stages());
  const SharedBatch batch = SharedBatchOf(queue, *slots, plan, std::max(1, w.prompt_tokens));
  Served served{.prefill = engine.OwnPrefill(plan.own.group.sequences), .decode_steps = w.output_tokens - 1.0};
  served.prefilled = plan.own.group.sequences;
  served.prefill_work = served.prefill;
  served.prefill.queueing += WaitsBefore(engine, queue, *slots, plan, w, batch.joined);
  served.decode = batch.Sum(engine, served.decode_steps);
  if (replica.steps_wanted) served.step = [engine, batch](double j) { return batch.Step(engine, j); };
  served.running_batches = RunningBatchesOf(batch, std::max(1.0, served.decode_steps));
  double ran = 0;  // mean of the sequences that run now
  for (const RunningBatch& part : served.running_batches) ran += part.share * part.others;
  served.running = batch.joined + ran;
  served.held = batch.joined + ran * (KvPerSequence(replica.model.shard, std::ceil(batch.running_context)) /
                                      replica.capacity.kv_per_sequence);
  served.requests_per_second = w.batch_size / (served.prefill.Total() + served.decode.Total()).value();
  return served;
}

}  // namespace foretoken
