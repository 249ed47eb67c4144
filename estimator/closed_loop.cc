#include "estimator/closed_loop.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "estimator/mixed_prefill.h"
#include "estimator/phases.h"

namespace foretoken {
namespace {

// The other sequences of a step, at the mean context of their decode.
Riders OtherSequences(const Replica& replica, double running) {
  const Workload& w = replica.scenario.workload;
  return {.sequences = (running - 1) / replica.model.shard.stages, .context = w.prompt_tokens + w.output_tokens / 2.0};
}

// Adds what a request waits for while `running` are on the replica, itself included. Each of the others is prefilled
// once while it is there: a share of that delays its decode steps, the rest its first token. It also waits for the
// step that runs as it arrives, and its prompt shares its steps with those that decode.
void AddWaits(const Replica& replica, Served& served) {
  const Efficiencies& e = replica.model.efficiencies;
  if (served.running <= 1 || e.speed_of_light) return;
  const Workload& w = replica.scenario.workload;
  const double stages = replica.model.shard.stages;
  const MixedPrefill mixed = MixPrefill(replica.model, PromptShape(w, replica.scenario.deployment, 1),
                                        OtherSequences(replica, served.running));
  const Seconds others = (served.running - 1) * mixed.added / stages;
  const double in_steps = e.prefill_share * served.decode_steps / w.output_tokens;
  served.prefill.queueing += (1 - in_steps) * others;
  if (served.decode_steps < 1) return;  // nobody decodes
  served.prefill.queueing += served.decode.Total() / served.decode_steps / (2 * stages) + mixed.riding;
  served.decode.queueing += in_steps * others;
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
  Served served{.decode_steps = w.output_tokens - 1.0, .running = std::min(capacity.batch, most)};
  served.prefill = PrefillPhase(replica.model, w, replica.scenario.deployment, 1);
  served.held = served.running;
  served.prefill_work = served.prefill.Total();
  const DecodePhase decode(replica.model, w, served.running);
  served.decode = decode.Sum(served.decode_steps);
  AddWaits(replica, served);
  const Seconds wait = served.decode.queueing / std::max(1.0, served.decode_steps);
  served.step = [decode, wait](double j) { return decode.Step(j) + TimeParts{.queueing = wait}; };
  // Little's law: requests that find no memory wait while those that run come and go.
  const Seconds on_replica = served.prefill.Total() + served.decode.Total();
  served.prefill.queueing += (capacity.batch / served.running - 1) * on_replica;
  served.requests_per_second = w.batch_size / (served.prefill.Total() + served.decode.Total()).value();
  return served;
}

}  // namespace foretoken
