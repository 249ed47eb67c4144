#include "estimator/serving/closed_loop.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "estimator/phases/mixed_prefill.h"
#include "estimator/phases/phases.h"
#include "estimator/serving/batch.h"

namespace foretoken {
namespace {

// The prefills of the other requests while one request is on the replica. Each other request prefills once meanwhile.
struct OtherPrefills {
  Seconds in_steps;      // time that they add to steps in which the request may decode
  Seconds beyond;        // steps for the prompts that the request's decode steps have no room for
  Seconds from_decodes;  // time that the others' decode adds to the steps of the request's own prompt
};

// Prompts that arrive for each step while `running` requests are on a replica. A request passes the pipeline once for
// its prompt and once for each decode step.
double PromptsPerStep(const Replica& replica, double running) {
  const double rounds = Rounds(replica.speculator, replica.scenario.workload.output_tokens - 1.0);
  return running / (replica.model.shard.stages * (rounds + 1));
}

PrefillShape PromptsOf(const Replica& replica, double together) {
  return PromptShape(replica.scenario.workload, replica.scenario.deployment, together);
}

// Most sequences that decode beside a request: those whose prompts are prefilled in its decode steps. With PP stages,
// PP steps follow each other while a microbatch makes one token.
double MostCoScheduled(const Replica& replica, double together) {
  const double steps = Rounds(replica.speculator, replica.scenario.workload.output_tokens - 1.0);
  return together * steps * replica.model.shard.stages / PrefillChunks(PromptsOf(replica, together));
}

// The prefills of `others`, of which each step takes `together`. A loop of many requests with few output tokens has
// more steps for prompts than a request has decode steps.
OtherPrefills Others(const Replica& replica, double others, double together, double decode_steps) {
  const Workload& w = replica.scenario.workload;
  const PrefillShape prompts = PromptsOf(replica, together);
  const double chunks = PrefillChunks(prompts);
  const double stages = replica.model.shard.stages;
  const CoScheduledDecodes decodes{.sequences = std::min(others, MostCoScheduled(replica, together)) / stages,
                                   .context = w.mean_context()};
  const MixedPrefill mixed = MixRounds(replica.model, replica.speculator, prompts, decodes);
  const Seconds decode_step = (mixed.steps - mixed.added) / chunks;
  const double groups = others / together;
  return {.in_steps = groups * mixed.added / stages,
          .beyond = std::max(0.0, groups * chunks - decode_steps * stages) * decode_step / stages,
          .from_decodes = mixed.from_decodes};
}

// The part of the others' prefills that precedes a request directly. Requests of one shape that began together stay in
// step: each arrives as another ends, when a step with the prompts of the requests just before it has just begun. That
// step holds `together` prompts, like every step. Only the first requests wait for none.
Seconds JustBefore(const OtherPrefills& prefills, double others, double together) {
  return prefills.in_steps * (together / (others + together));
}

// Adds the waits of a request while `others` are on the replica, beside the requests whose prompts share its step. The
// request waits for the prompts that arrived just before it and for the step that holds them. Of the later prefills, a
// share delays its decode steps and the rest its first token. Its own prompt shares its steps with decoding sequences.
void AddWaits(const Replica& replica, double others, double together, Served& served) {
  const Efficiencies& e = replica.model.efficiencies;
  const double steps = served.decode_steps;
  if (others <= 0 || e.speed_of_light) return;
  const double rounds = Rounds(replica.speculator, steps);
  const OtherPrefills prefills = Others(replica, others, together, rounds);
  const Seconds later = prefills.in_steps - JustBefore(prefills, others, together);
  const Seconds while_decoding = e.prefill_share * steps / (steps + 1) * later;
  served.prefill.queueing += prefills.in_steps - while_decoding + prefills.beyond + prefills.from_decodes;
  if (steps < 1) return;  // no sequence decodes
  served.prefill.queueing += served.decode.Total() / rounds / replica.model.shard.stages;
  served.decode.queueing += while_decoding;
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
  const double most = MostRunning(replica);
  if (most < 1) return OutOfMemory(replica.scenario, capacity, replica.model.machine);
  WarnOfQueue(capacity.batch, most, warnings);
  const double running = std::min(capacity.batch, most);
  WarnOfPreemption(running, capacity.largest_batch, warnings);
  const double arrivals = PromptsPerStep(replica, running);
  const double together = std::clamp(arrivals, 1.0, PromptsThatFit(w, replica.scenario.deployment));
  const double alongside = (replica.model.shard.stages - 1) * std::min(arrivals, together);  // in the other stages
  Served served{.decode_steps = w.output_tokens - 1.0,
                .running = std::min(running, together + std::floor(MostCoScheduled(replica, together))),
                .held = HeldHalfway(w, running)};
  served.read = served.running;
  // At the speed of light a request waits for no other, not even for those whose prompts share its step.
  const bool alone = replica.model.efficiencies.speed_of_light;
  FillPrompts(replica, alone ? 1 : together, served);
  const DecodePhase decode(replica.model, w, served.running, replica.speculator);
  if (replica.speculator != nullptr) served.round = MeanRound(replica, served.running, served.decode_steps);
  served.decode = decode.Sum(served.decode_steps);
  AddWaits(replica, running - together - alongside, together, served);
  AddPrefixWait(replica, running, served);
  const Seconds wait = served.decode.queueing / std::max(1.0, served.decode_steps);
  if (replica.steps_wanted) {
    served.step = [decode, wait](double j) { return decode.Step(j) + TimeParts{.queueing = wait}; };
  }
  // Little's law: requests without memory wait while the running requests turn over.
  const Seconds on_replica = served.prefill.Total() + served.decode.Total();
  served.prefill.queueing += (capacity.batch / running - 1) * on_replica;
  served.requests_per_second = w.batch_size / (served.prefill.Total() + served.decode.Total()).value();
  if (alone) served.requests_per_second = std::min(served.requests_per_second, PromptsPerSecond(replica, together));
  return served;
}

}  // namespace foretoken
