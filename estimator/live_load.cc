#include "estimator/live_load.h"

#include <algorithm>
#include <cmath>

#include "estimator/backlog.h"
#include "estimator/decode.h"
#include "estimator/mixed_prefill.h"
#include "estimator/phases.h"
#include "estimator/prompt_plan.h"

namespace foretoken {
namespace {

// The replica and its backlog, as the engine works through it.
class Engine {
 public:
  Engine(const Replica& replica, const Backlog& backlog)
      : model_(replica.model), w_(replica.scenario.workload), deployment_(replica.scenario.deployment), b_(backlog) {
    deployment_.prefill_chunk_tokens = static_cast<int>(b_.step_tokens);
  }

  double Stages() const { return model_.shard.stages; }

  // `running` of those that run now and `joined` that were prefilled before.
  Riders Beside(double running, double joined) const { return Beside(running, b_.context, joined, w_.prompt_tokens); }
  // At these contexts.
  Riders Beside(double running, double context, double joined, double joined_context) const {
    const double riders = running + joined;
    if (riders <= 0) return {};
    return {.sequences = riders / Stages(), .context = (running * context + joined * joined_context) / riders};
  }

  // A prompt's steps beside sequences that were prefilled before.
  MixedPrefill Mix(const PrefillShape& shape, const Riders& riders) const { return MixPrefill(model_, shape, riders); }

  // Its steps alone.
  Seconds Steps(const PrefillShape& shape, const Riders& riders) const { return MixedSteps(model_, shape, riders); }

  // The steps of all these prompts.
  Seconds Drain(const Packing& packing, const Riders& riders) const {
    return packing.groups <= 0 ? Seconds(0) : packing.groups * Steps(packing.group, riders) / Stages();
  }

  // The request's own prefill, with `together` of those that come with it.
  TimeParts OwnPrefill(double together) const { return PrefillPhase(model_, w_, deployment_, together); }

  // `steps` decode steps of `sequences`, the first at `context` + 1.
  TimeParts Decode(double sequences, double context, double steps) const {
    if (steps <= 0) return {};
    return DecodeCurve(model_, Batch(sequences)).Sum(std::round(context) + 1, std::round(context) + steps);
  }

 private:
  // Of one stage; of a mean number of sequences between those of the whole numbers around it.
  double Batch(double sequences) const {
    const double fewer = std::floor(sequences);
    const double batch = std::ceil(fewer / Stages());
    return batch + (sequences - fewer) * (std::ceil((fewer + 1) / Stages()) - batch);
  }

  const StepModel& model_;
  const Workload& w_;
  Deployment deployment_;
  Backlog b_;
};

// The batch that the request decodes in: those running, who end one after the other, and those that joined.
struct Company {
  Endings endings{0, {}};
  double before = 0;  // steps until the request decodes
  double shared = 0;  // steps of its decode until the last of those running has ended
  double running_context = 0;
  double joined = 0;  // the request included
  double prompt = 0;

  // Of those running, in steps `first` + 1 to `last` of the decode, on average.
  double Running(double first, double last) const { return endings.MeanLeft(before + first, before + last); }
  // `last` - `first` of those steps, all shared: as many as run on average, at their mean context.
  TimeParts Together(const Engine& engine, double first, double last) const {
    const double running = Running(first, last);
    const double context = (running * running_context + joined * prompt) / (running + joined);
    return engine.Decode(running + joined, context + first, last - first);
  }
  // Those that are shared in two halves: the time of a step is no straight line over the sequences.
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

Company CompanyOf(const Backlog& b, const Seats& seats, const PromptPlan& plan, double prompt) {
  const double before = plan.Before();
  const Endings endings = b.WhenTheyEnd();
  Company company{.endings = endings, .before = before, .running_context = b.context + before};
  company.shared = std::max(0.0, std::round(endings.Last() - before));
  company.prompt = prompt;
  company.joined =
      (b.in_flight.count + b.waiting.count - plan.sharing) * plan.Stay(plan.begins) + plan.sharing + b.arriving.count;
  if (seats.must_wait) company.joined = std::min(company.joined, seats.Joined(b.running, endings.Left(before)));
  return company;
}

// The prompts before the request, where all have a seat.
Seconds Queue(const Engine& engine, const Backlog& b, const PromptPlan& plan) {
  const Endings endings = b.WhenTheyEnd();
  const double first = plan.in_flight.Steps();
  // Those of them that decode already: half of the others, less those that have ended.
  const auto drain = [&](const Packing& prompts, double running, double before) {
    if (prompts.groups <= 0) return Seconds(0);
    const double stay = plan.Stay(prompts.Steps());
    const double others = prompts.group.sequences * (prompts.groups - 1) * stay * (1 - stay / 2);
    return engine.Drain(prompts, engine.Beside(running, before * stay + others));
  };
  const Seconds queue = drain(plan.in_flight, endings.MeanLeft(0, first), 0) +
                        drain(plan.waiting, endings.MeanLeft(first, plan.Queued()), b.in_flight.count);
  if (b.running <= 0) return queue;
  return queue + engine.Decode(b.running, b.context, 1).Total() / (2 * engine.Stages());
}

// The same where they have not: all seats are taken until the request's is free, in steps that hold those prompts and
// in steps that do not. Those running have made half of those steps' tokens on average, and so have those that joined,
// up to their whole output. Prompts that last longer than the wait have the rest of their steps as in `queue`.
Seconds SeatWait(const Engine& engine, const Backlog& b, const Seats& seats, const PromptPlan& plan, const Workload& w,
                 Seconds queue) {
  if (!seats.must_wait) return queue;
  const Endings endings = b.WhenTheyEnd();
  const double running = std::min(seats.taken, endings.MeanLeft(0, seats.steps));
  const double context = b.context + std::min(seats.steps, endings.Last()) / 2;
  const double joined_context = w.prompt_tokens + std::min<double>(seats.steps, w.output_tokens) / 2;
  const Riders all = engine.Beside(running, context, seats.taken - running, joined_context);
  const auto drain = [&](const Packing& prompts) {
    Riders riders = all;
    riders.sequences = std::max(0.0, all.sequences - prompts.group.sequences / engine.Stages());
    return engine.Drain(prompts, riders);
  };
  const double others = std::max(0.0, seats.steps - plan.Queued());
  const Seconds wait =
      drain(plan.in_flight) + drain(plan.waiting) + others * engine.Decode(seats.taken, all.context, 1).Total();
  const double share = seats.steps < plan.Queued() ? seats.steps / plan.Queued() : 1;
  return std::max(queue, share * wait + (1 - share) * queue);
}

// A step does not overtake the one before it in the pipeline: where that is longer the request's waits for it.
Seconds Behind(const Engine& engine, const Seats& seats, const PromptPlan& plan, const PrefillShape& own,
               const Riders& riders) {
  const Packing& before = plan.waiting.groups > 0 ? plan.waiting : plan.in_flight;
  if (engine.Stages() <= 1 || before.groups <= 0 || seats.steps > plan.Queued()) return Seconds(0);
  const auto step = [&](const PrefillShape& shape) { return engine.Steps(shape, riders) / PrefillChunks(shape); };
  return (1 - 1 / engine.Stages()) * std::max(Seconds(0), step(before.group) - step(own));
}

// What the request waits for before its own prefill begins, and what slows that.
Seconds WaitsBefore(const Engine& engine, const Backlog& b, const Seats& seats, const PromptPlan& plan,
                    const Workload& w, double together) {
  const double running = b.WhenTheyEnd().MeanLeft(plan.begins, plan.Before());
  const double joined = std::max(0.0, together - plan.sharing - b.arriving.count);
  const Riders riders = engine.Beside(running, joined);
  const MixedPrefill own = engine.Mix(plan.own.group, riders);
  const PrefillShape shared = plan.SharedGroup(b.waiting.tokens);
  const Seconds wait = SeatWait(engine, b, seats, plan, w, Queue(engine, b, plan)) +
                       Behind(engine, seats, plan, shared, riders) +
                       (plan.own.groups - 1) * own.steps / engine.Stages() + own.riding;
  if (plan.sharing <= 0) return wait;
  return wait + std::max(Seconds(0), engine.Steps(shared, riders) - own.steps);
}

// Over `steps` decode steps, at least 1.
Crews CrewsOf(const Company& company, double steps) {
  const double together = std::min(steps, company.shared);
  const double half = std::floor(together / 2);
  const auto shared = [&](double first, double last) {
    const double running = company.Running(first, last);
    return Crew{.share = (last - first) / steps,
                .running = running + company.joined,
                .read = company.joined,
                .others = running,
                .others_context = company.running_context + first};
  };
  const Crew alone{.share = 1 - together / steps, .running = company.joined, .read = company.joined};
  return {shared(0, half), shared(half, together), alone};
}

}  // namespace

absl::StatusOr<Served> ServeLiveLoad(const Replica& replica, std::vector<Warning>& warnings) {
  const Workload& w = replica.scenario.workload;
  if (replica.capacity.largest_batch < 1) {
    return OutOfMemory(replica.scenario, replica.capacity, replica.model.machine);
  }
  const Backlog backlog = ReadBacklog(replica, warnings);
  const absl::StatusOr<Seats> seats = TakeSeats(replica, backlog, warnings);
  if (!seats.ok()) return seats.status();
  const Engine engine(replica, backlog);
  const PromptPlan plan = PlanPrompts(backlog, seats->steps, w, engine.Stages());
  const Company company = CompanyOf(backlog, *seats, plan, std::max(1, w.prompt_tokens));
  Served served{.prefill = engine.OwnPrefill(plan.own.group.sequences), .decode_steps = w.output_tokens - 1.0};
  served.prefilled = plan.own.group.sequences;
  served.prefill_work = served.prefill;
  served.prefill.queueing += WaitsBefore(engine, backlog, *seats, plan, w, company.joined);
  served.decode = company.Sum(engine, served.decode_steps);
  if (replica.steps_wanted) served.step = [engine, company](double j) { return company.Step(engine, j); };
  served.crews = CrewsOf(company, std::max(1.0, served.decode_steps));
  double ran = 0;  // of those running now, on average
  for (const Crew& crew : served.crews) ran += crew.share * crew.others;
  served.running = company.joined + ran;
  served.held = company.joined + ran * (KvPerSequence(replica.model.shard, std::ceil(company.running_context)) /
                                        replica.capacity.kv_per_sequence);
  served.requests_per_second = w.batch_size / (served.prefill.Total() + served.decode.Total()).value();
  return served;
}

}  // namespace foretoken
