#include "estimator/serving/closed_loop.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "estimator/phases/mixed_prefill.h"
#include "estimator/phases/phases.h"
#include "estimator/serving/batch.h"

namespace foretoken {
namespace {

// How the requests of a loop follow each other.
enum class Order {
  kTrain,   // alike, and prompts are mixed with decodes: each request follows the one before it, for ever
  kWaves,   // alike, and prompts come first: all are prefilled, then all decode, and all end together
  kSpread,  // outputs of many lengths: requests arrive one by one, but for those that start the run
};

// The speed of light is of no engine.
bool PromptsComeFirst(const Replica& replica) {
  if (replica.model.efficiencies.speed_of_light) return false;
  return SchedulerOf(replica.scenario.deployment) == SchedulerPolicy::kPrefillFirst;
}

Order OrderOf(const Replica& replica) {
  const Workload& w = replica.scenario.workload;
  if (w.output_spread_tokens > 0) return Order::kSpread;
  return PromptsComeFirst(replica) && w.output_tokens > 1 ? Order::kWaves : Order::kTrain;
}

// Whole steps that pass before the step of a request's own prompt, if requests arrive one by one. A request takes the
// place of one that ended with a step. The next step has begun by then, and the engine has scheduled the one after it,
// because it schedules while the device works.
constexpr double kStepsBefore = 2;

// Of the requests that start a run, those that decode beside the prompt of another: the mean over all groups of
// prompts, weighted with the requests that still wait for each.
constexpr double kDecodingAtStart = 1.0 / 3;

// The prefills of the other requests while one request is on the replica. Each other request prefills once meanwhile.
struct OtherPrefills {
  Seconds in_steps;      // time that they add to steps in which the request may decode
  Seconds beyond;        // steps for the prompts that the request's decode steps have no room for
  Seconds from_decodes;  // time that the others' decode adds to the steps of the request's own prompt
};

double DecodeSteps(const Replica& replica) {
  return Rounds(replica.speculator, replica.scenario.workload.output_tokens - 1.0);
}

// Prompts that arrive for each step while `running` requests are on a replica. A request passes the pipeline once for
// its prompt and once for each decode step.
double PromptsPerStep(const Replica& replica, double running) {
  return running / (replica.model.shard.stages * (DecodeSteps(replica) + 1));
}

// Prompts that a step of the first ones takes, where `running` requests start together.
double FirstPrompts(const Replica& replica, double running) {
  const Scenario& s = replica.scenario;
  const double fit = PromptsThatFit(s.workload, s.deployment);
  const bool whole = SchedulerOf(s.deployment) == SchedulerPolicy::kInFlight;
  return std::clamp(running / replica.model.shard.stages, 1.0, whole ? std::floor(fit) : fit);
}

// Prompts that a step with a request's own prompt takes.
double PromptsTogether(const Replica& replica, Order order, double running) {
  const double arrivals = PromptsPerStep(replica, running);
  const double most = FirstPrompts(replica, running);
  if (order == Order::kWaves) return most;
  // Of requests that arrive one by one, as many as arrive in a step share the step of each.
  if (order == Order::kSpread) return std::min(1 + arrivals, most);
  return std::clamp(arrivals, 1.0, PromptsThatFit(replica.scenario.workload, replica.scenario.deployment));
}

PrefillShape PromptsOf(const Replica& replica, double together) {
  return PromptShape(replica.scenario.workload, replica.scenario.deployment, together);
}

// Most sequences that decode beside a request: those whose prompts are prefilled in its decode steps. With PP stages,
// PP steps follow each other while a microbatch makes one token.
double MostCoScheduled(const Replica& replica, double together) {
  const double steps = DecodeSteps(replica) * replica.model.shard.stages;
  return together * steps / PrefillChunks(PromptsOf(replica, together));
}

// The steps of `together` prompts beside `sequences` that decode on the replica. None decodes where prompts come first.
MixedPrefill MixedWith(const Replica& replica, double together, double sequences) {
  const double beside = PromptsComeFirst(replica) ? 0 : sequences / replica.model.shard.stages;
  const CoScheduledDecodes decodes{.sequences = beside, .context = replica.scenario.workload.mean_context()};
  return MixRounds(replica.model, replica.speculator, PromptsOf(replica, together), decodes);
}

// Sequences that decode together. Where prompts come first, all do: decodes wait until no prompt is left.
double DecodingTogether(const Replica& replica, double running, double together) {
  if (PromptsComeFirst(replica)) return running;
  return std::min(running, together + std::floor(MostCoScheduled(replica, together)));
}

// The prefills of `others`, of which each step takes `together`. A loop of many requests with few output tokens has
// more steps for prompts than a request has decode steps.
OtherPrefills Others(const Replica& replica, double others, double together) {
  const double chunks = PrefillChunks(PromptsOf(replica, together));
  const double stages = replica.model.shard.stages;
  const MixedPrefill mixed = MixedWith(replica, together, std::min(others, MostCoScheduled(replica, together)));
  const Seconds decode_step = (mixed.steps - mixed.added) / chunks;
  const double groups = others / together;
  return {.in_steps = groups * mixed.added / stages,
          .beyond = std::max(0.0, groups * chunks - DecodeSteps(replica) * stages) * decode_step / stages,
          .from_decodes = mixed.from_decodes};
}

// The part of the others' prefills that precedes a request of a train directly. It arrives as another ends, when a step
// with the prompts of the requests just before it has just begun. That step holds `together` prompts, like every step.
// Only the first requests wait for none.
Seconds JustBefore(const OtherPrefills& prefills, double others, double together) {
  return prefills.in_steps * (together / (others + together));
}

// What a request waits for beside its own work.
struct Waits {
  Seconds before_first_token;
  Seconds while_decoding;
};

// Of the prefills that do not precede a request directly, a share delays its decode steps and the rest its first token.
Waits WaitsInTrain(const Replica& replica, const OtherPrefills& prefills, double others, double together,
                   Seconds decode_step) {
  const double steps = replica.scenario.workload.output_tokens - 1.0;
  const Seconds later = prefills.in_steps - JustBefore(prefills, others, together);
  const Seconds while_decoding = replica.model.efficiencies.prefill_share * steps / (steps + 1) * later;
  return {
      .before_first_token = prefills.in_steps - while_decoding + prefills.beyond + prefills.from_decodes + decode_step,
      .while_decoding = while_decoding};
}

// A prompt waits for those before it in the wave, and its decode for those after it. Half of them are before it.
Waits WaitsInWave(const OtherPrefills& prefills) { return {prefills.in_steps / 2, prefills.in_steps / 2}; }

// Rounds of requests in the run: how often each place in the loop is taken. Infinite if the run is not stated.
double RoundsOfRun(const Workload& workload) {
  if (!workload.closed_loop_requests) return std::numeric_limits<double>::infinity();
  return std::max(1.0, static_cast<double>(*workload.closed_loop_requests) / workload.batch_size);
}

// From the start of a run to the mean first token of the `running` requests that start it. Their prompts are prefilled
// in groups, one after the other.
Seconds FirstTokensOfRun(const Replica& replica, double running) {
  const double together = FirstPrompts(replica, running);
  const double groups = std::max(1.0, running / (together * replica.model.shard.stages));
  const MixedPrefill mixed = MixedWith(replica, together, kDecodingAtStart * running);
  const Seconds own = PromptPhase(replica, replica.scenario.workload, together).Total() + mixed.from_decodes;
  return own + (groups - 1) / 2 * mixed.steps;
}

// Requests that arrive one by one wait for whole steps, which hold their share of the other prefills. The first round
// of a run meets the prompts that start together, half of them while it decodes.
Waits WaitsOneByOne(const Replica& replica, const OtherPrefills& prefills, double running, Seconds decode_step,
                    const Served& served) {
  const double steps = served.decode_steps;
  const double first = 1 / RoundsOfRun(replica.scenario.workload);
  const Seconds in_steps_before = kStepsBefore / (steps + kStepsBefore) * prefills.in_steps;
  const Seconds later = kStepsBefore * decode_step + in_steps_before + prefills.beyond + prefills.from_decodes;
  const Seconds at_start = std::max(Seconds(0), FirstTokensOfRun(replica, running) - served.prefill.Total());
  return {.before_first_token = first * at_start + (1 - first) * later,
          .while_decoding = (1 - first / 2) * (prefills.in_steps - in_steps_before)};
}

// Requests that are neither in the step of a request's own prompt nor in the other stages meanwhile.
double OthersOf(const Replica& replica, Order order, double running, double together) {
  const double in_each = order == Order::kWaves ? together : std::min(PromptsPerStep(replica, running), together);
  return running - together - (replica.model.shard.stages - 1) * in_each;
}

// Adds the waits of a request while `running` are on the replica, of which `together` share the step of its prompt.
void AddWaits(const Replica& replica, Order order, double running, double together, Served& served) {
  const double steps = served.decode_steps;
  const double others = OthersOf(replica, order, running, together);
  if (others <= 0 || replica.model.efficiencies.speed_of_light) return;
  const OtherPrefills prefills = Others(replica, others, together);
  const double stages = replica.model.shard.stages;
  const Seconds decode_step = steps < 1 ? Seconds(0) : served.decode.Total() / DecodeSteps(replica) / stages;
  const Waits waits = order == Order::kWaves   ? WaitsInWave(prefills)
                      : order == Order::kTrain ? WaitsInTrain(replica, prefills, others, together, decode_step)
                                               : WaitsOneByOne(replica, prefills, running, decode_step, served);
  served.prefill.queueing += waits.before_first_token;
  served.decode.queueing += waits.while_decoding;
}

// Requests that run at once.
double Slots(const Replica& replica) {
  const double most = MostRunning(replica);
  return SchedulerOf(replica.scenario.deployment) == SchedulerPolicy::kInFlight
             ? std::min(most, replica.capacity.largest_batch)
             : most;
}

// How many times its own time on the replica a request waits for a slot, if `slots` of `concurrency` requests run at
// once. Little's law: the others wait while the running requests turn over. Of the first round some find a free slot,
// and the last of it wait as long as all after them.
double WaitForSlot(const Workload& workload, double concurrency, double slots) {
  return (concurrency / slots - 1) * (1 - 1 / (2 * RoundsOfRun(workload)));
}

// The most requests of the deployment whose prompts can be prefilled, if each step takes `together` and nothing else.
double PromptsPerSecond(const Replica& replica, double together) {
  const Seconds steps = MixedSteps(replica.model, PromptsOf(replica, together), {});
  const double rate = together * replica.model.shard.stages / steps.value();  // infinite without tokens to prefill
  return rate * replica.scenario.deployment.data_parallel;
}

// A cycle of the loop takes at least as long as loading the prefixes of all requests in it.
void AddPrefixWait(const Replica& replica, double running, Served& served) {
  if (replica.model.efficiencies.speed_of_light) return;
  const Seconds loads = PrefixLoad(replica.model, replica.scenario.workload, running);
  served.prefill.queueing += std::max(Seconds(0), loads - served.prefill.Total() - served.decode.Total());
}

// Warns if all sequences fit halfway through their outputs, but not at their end.
void WarnOfPreemption(double running, double largest, std::vector<Warning>& warnings) {
  if (running <= largest) return;
  warnings.push_back({WarningCode::kWaves,
                      absl::StrCat(running, " sequences per replica fit halfway through their outputs, ", largest,
                                   " at their end; the engine preempts at times, which is not counted"),
                      "workload.batch_size"});
}

void WarnOfQueue(double concurrency, double most, std::vector<Warning>& warnings) {
  if (concurrency <= most) return;
  warnings.push_back({WarningCode::kWaves,
                      absl::StrCat("of ", concurrency, " requests per replica ", most,
                                   " can run at once; the others wait in the queue"),
                      "workload.batch_size"});
}

}  // namespace

absl::StatusOr<Served> ServeClosedLoop(const Replica& replica, std::vector<Warning>& warnings) {
  const Workload& w = replica.scenario.workload;
  const Capacity& capacity = replica.capacity;
  const double most = Slots(replica);
  if (most < 1) return OutOfMemory(replica.scenario, capacity, replica.model.machine);
  WarnOfQueue(capacity.batch, most, warnings);
  const double running = std::min(capacity.batch, most);
  WarnOfPreemption(running, capacity.largest_batch, warnings);
  const Order order = OrderOf(replica);
  const double together = PromptsTogether(replica, order, running);
  Served served{.decode_steps = w.output_tokens - 1.0,
                .running = DecodingTogether(replica, running, together),
                .held = HeldHalfway(w, running)};
  served.read = served.running;
  // At the speed of light a request waits for no other, not even for those whose prompts share its step.
  const bool alone = replica.model.efficiencies.speed_of_light;
  FillPrompts(replica, alone ? 1 : together, served);
  const DecodePhase decode(replica.model, w, served.running, replica.speculator);
  if (replica.speculator != nullptr) served.round = MeanRound(replica, served.running, served.decode_steps);
  served.decode = decode.Sum(served.decode_steps);
  AddWaits(replica, order, running, together, served);
  AddPrefixWait(replica, running, served);
  const Seconds wait = served.decode.queueing / std::max(1.0, served.decode_steps);
  if (replica.steps_wanted) {
    served.step = [decode, wait](double j) { return decode.Step(j) + TimeParts{.queueing = wait}; };
  }
  const Seconds on_replica = served.prefill.Total() + served.decode.Total();
  served.prefill.queueing += WaitForSlot(w, capacity.batch, running) * on_replica;
  served.requests_per_second = w.batch_size / (capacity.batch / running * on_replica).value();
  if (alone) served.requests_per_second = std::min(served.requests_per_second, PromptsPerSecond(replica, together));
  return served;
}

}  // namespace foretoken
