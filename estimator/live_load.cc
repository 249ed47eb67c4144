#include "estimator/live_load.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "estimator/backlog.h"
#include "estimator/decode.h"
#include "estimator/mixed_prefill.h"
#include "estimator/phases.h"

namespace foretoken {
namespace {

// Prompts as the engine packs them: several short ones share a step, a long one takes several.
struct Packing {
  PrefillShape group;
  double groups = 0;

  double Steps() const { return groups * PrefillChunks(group); }
};

Packing Pack(const Prompts& prompts, double prior, double step_tokens) {
  if (prompts.count <= 0) return {};
  const double fit = std::floor(step_tokens / std::max(1.0, prompts.tokens));
  const double together = std::clamp(fit, 1.0, std::max(1.0, prompts.count));
  return {.group = {.sequences = together, .new_tokens = prompts.tokens, .prior = prior, .chunk_tokens = step_tokens},
          .groups = prompts.count / together};
}

// The replica and its backlog, as the engine works through it.
class Engine {
 public:
  Engine(const Replica& replica, const Backlog& backlog)
      : model_(replica.model), w_(replica.scenario.workload), deployment_(replica.scenario.deployment), b_(backlog) {
    deployment_.prefill_chunk_tokens = static_cast<int>(b_.step_tokens);
  }

  double Stages() const { return model_.shard.stages; }

  // A prompt's steps beside `running` and `joined` that were prefilled before.
  MixedPrefill Mix(const PrefillShape& shape, double running, double joined) const {
    return MixPrefill(model_, shape, Beside(running, joined));
  }

  // The steps of prompts that come before the request; on average half of them have joined the decode.
  Seconds Drain(const Packing& packing, double running, double joined) const {
    if (packing.groups <= 0) return Seconds(0);
    joined += packing.group.sequences * (packing.groups - 1) / 2;
    return packing.groups * MixedSteps(model_, packing.group, Beside(running, joined)) / Stages();
  }

  // The request's own prefill, with `together` of those that come with it.
  TimeParts OwnPrefill(double together) const { return PrefillPhase(model_, w_, deployment_, together); }

  // `steps` decode steps of `sequences`, the first at `context` + 1.
  TimeParts Decode(double sequences, double context, double steps) const {
    const DecodeCurve curve(model_, std::ceil(sequences / Stages()));
    return curve.Sum(std::round(context) + 1, std::round(context) + steps);
  }

 private:
  Riders Beside(double running, double joined) const {
    const double riders = running + joined;
    if (riders <= 0) return {};
    const double context = (running * b_.context + joined * w_.prompt_tokens) / riders;
    return {.sequences = riders / Stages(), .context = context};
  }

  const StepModel& model_;
  const Workload& w_;
  Deployment deployment_;
  Backlog b_;
};

// The batch that the request decodes in: those running for `shared` steps more, and those that joined.
struct Company {
  double running = 0;
  double running_context = 0;
  double joined = 0;  // the request included
  double prompt = 0;
  double shared = 0;

  double All() const { return running + joined; }
  double Context() const { return (running * running_context + joined * prompt) / All(); }
  // Of those running, over all steps.
  double MeanRunning(double steps) const { return steps > shared ? running * shared / steps : running; }
  TimeParts Sum(const Engine& engine, double steps) const {
    const double together = std::min(steps, shared);
    return engine.Decode(All(), Context(), together) + engine.Decode(joined, prompt + together, steps - together);
  }
  TimeParts Step(const Engine& engine, double j) const {
    return j <= shared ? engine.Decode(All(), Context() + j - 1, 1) : engine.Decode(joined, prompt + j - 1, 1);
  }
};

// Those that have to wait for a seat: until those running have ended, and for whole generations of requests after.
Seconds SeatWait(const Engine& engine, const Backlog& b, const Seats& seats, const Workload& w) {
  if (!seats.must_wait) return Seconds(0);
  const double seated = b.running + b.in_flight.count + seats.now;
  Seconds wait;
  if (b.running > 0) wait += engine.Decode(seated, b.context, std::ceil(*b.remaining)).Total();
  if (seats.generations <= 0) return wait;
  const Seconds one = engine.OwnPrefill(seats.later).Total() +
                      engine.Decode(seats.later, w.prompt_tokens, w.output_tokens - 1.0).Total();
  return wait + seats.generations * one;
}

// How the prompts of the backlog become steps.
struct Plan {
  Packing in_flight, early, late, own;  // early: waiting prompts that have a seat

  // Steps that those running decode before the request's first token, where nobody has to wait for a seat.
  double StepsBefore() const { return in_flight.Steps() + early.Steps() + own.Steps(); }
};

Plan MakePlan(const Backlog& b, const Seats& seats, double prior) {
  const double late = seats.must_wait ? std::clamp(b.waiting.count - seats.now, 0.0, seats.later) : 0;
  const double early = seats.must_wait ? std::min(b.waiting.count, seats.now) : b.waiting.count;
  return {.in_flight = Pack(b.in_flight, 0, b.step_tokens),
          .early = Pack({early, b.waiting.tokens}, 0, b.step_tokens),
          .late = Pack({late, b.waiting.tokens}, 0, b.step_tokens),
          .own = Pack(b.arriving, prior, b.step_tokens)};
}

// Of those running now, how many decode in `steps` that begin `before` steps from now, on average.
double StillRunning(const Backlog& b, double before, double steps) {
  if (!b.remaining || steps <= 0) return b.running;
  return b.running * std::clamp((std::ceil(*b.remaining) - before) / steps, 0.0, 1.0);
}

// What the request waits for before its own prefill begins, and what slows that.
Seconds WaitsBefore(const Engine& engine, const Backlog& b, const Seats& seats, const Plan& plan, const Workload& w) {
  const double admitted = b.in_flight.count;
  const double first = plan.in_flight.Steps();
  const double before = first + plan.early.Steps();
  Seconds queue = engine.Drain(plan.in_flight, StillRunning(b, 0, first), 0) +
                  engine.Drain(plan.early, StillRunning(b, first, plan.early.Steps()), admitted);
  if (b.running > 0) queue += engine.Decode(b.running, b.context, 1).Total() / (2 * engine.Stages());
  queue = std::max(queue, SeatWait(engine, b, seats, w)) + engine.Drain(plan.late, 0, 0);
  const double joined = admitted + b.waiting.count;
  const MixedPrefill own = seats.must_wait
                               ? engine.Mix(plan.own.group, 0, std::min(joined, seats.later - 1))
                               : engine.Mix(plan.own.group, StillRunning(b, before, plan.own.Steps()), joined);
  return queue + (plan.own.groups - 1) * own.steps / engine.Stages() + own.riding;
}

Company CompanyOf(const Backlog& b, const Seats& seats, const Plan& plan, double prompt) {
  Company company{.joined = b.in_flight.count + b.waiting.count + b.arriving.count, .prompt = prompt};
  if (seats.must_wait) {  // those running have ended by then
    company.joined = std::min(company.joined, seats.later);
    return company;
  }
  const double before = std::ceil(plan.StepsBefore());
  const double left = b.remaining ? std::ceil(*b.remaining) - before : std::numeric_limits<double>::infinity();
  if (left <= 0) return company;
  company.running = b.running;
  company.running_context = b.context + before;
  company.shared = b.running > 0 ? left : 0;
  return company;
}

// Over `steps` decode steps.
Crews CrewsOf(const Company& company, double steps) {
  const double shared = std::min(1.0, company.shared / std::max(1.0, steps));
  return {{.share = shared,
           .running = company.All(),
           .read = company.joined,
           .others = company.running,
           .others_context = company.running_context},
          {.share = 1 - shared, .running = company.joined, .read = company.joined}};
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
  const Plan plan = MakePlan(backlog, *seats, w.cached_prefix_tokens);
  const Company company = CompanyOf(backlog, *seats, plan, std::max(1, w.prompt_tokens));
  Served served{.prefill = engine.OwnPrefill(plan.own.group.sequences), .decode_steps = w.output_tokens - 1.0};
  served.prefilled = plan.own.group.sequences;
  served.prefill_work = served.prefill;
  served.prefill.queueing += WaitsBefore(engine, backlog, *seats, plan, w);
  served.decode = company.Sum(engine, served.decode_steps);
  if (replica.steps_wanted) served.step = [engine, company](double j) { return company.Step(engine, j); };
  const double ran = company.MeanRunning(served.decode_steps);
  served.running = company.joined + ran;
  served.held = company.joined + ran * (KvPerSequence(replica.model.shard, std::ceil(company.running_context)) /
                                        replica.capacity.kv_per_sequence);
  served.crews = CrewsOf(company, served.decode_steps);
  served.requests_per_second = w.batch_size / (served.prefill.Total() + served.decode.Total()).value();
  return served;
}

}  // namespace foretoken
