#include "estimator/open_loop.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_format.h"
#include "estimator/batch.h"
#include "estimator/errors.h"
#include "estimator/mixed_prefill.h"
#include "estimator/phases.h"
#include "estimator/queue.h"

namespace foretoken {
namespace {

// The replica while `decoding` sequences decode on average. Arrivals see that many; one that decodes sees itself too.
class OperatingPoint {
 public:
  OperatingPoint(const Replica& replica, double most, double decoding)
      : workload_(replica.scenario.workload),
        stages_(replica.model.shard.stages),
        decoding_(Steps() < 1 ? 0 : decoding),  // nobody decodes where the first token is the last
        running_(std::min(most, decoding_ + 1)),
        mixed_(MixRounds(
            replica.model, replica.speculator, PromptShape(workload_, replica.scenario.deployment, 1),
            {.sequences = decoding_ / stages_, .context = workload_.prompt_tokens + workload_.output_tokens / 2.0})),
        curve_(replica.model, replica.speculator, std::max(1.0, running_ / stages_)),
        rounds_(Rounds(replica.speculator, Steps())),
        decode_(curve_.Sum(workload_.prompt_tokens + 1.0, workload_.prompt_tokens + Steps())) {}

  double Steps() const { return workload_.output_tokens - 1.0; }
  double running() const { return running_; }
  Seconds riding() const { return mixed_.riding; }
  // All decode steps of a request, without the prefills between them.
  const TimeParts& Decode() const { return decode_; }
  TimeParts Step(double j) const { return curve_.Step(workload_.prompt_tokens + j); }
  // X: time that the prefill of a request takes from the others.
  Seconds Prefill() const { return mixed_.added / stages_; }
  // M: time of the steps that hold its chunks; the next prompt has to wait for their end.
  Seconds PromptSteps() const { return mixed_.steps / stages_; }
  // Half of the step that runs as a request arrives, where one does: 1 - exp(-B) of the time.
  Seconds Residual() const {
    if (Steps() < 1) return Seconds(0);
    return (1 - std::exp(-decoding_)) * Decode().Total() / rounds_ / (2 * stages_);
  }
  // The rate at which this point is in balance. Little's law, B = rate * (decode / (1 - rate X)), solved for the rate.
  double Rate() const {
    if (Steps() < 1) return 1 / Prefill().value();
    return decoding_ / (Decode().Total() + decoding_ * Prefill()).value();
  }

 private:
  const Workload& workload_;
  double stages_;
  double decoding_;
  double running_;
  MixedPrefill mixed_;
  TokenCurve curve_;
  double rounds_;
  TimeParts decode_;
};

// Most that can decode on average. A step takes one chunk: in the steps of one prompt each of them makes a token, with
// pp stages in every pp-th of them, and a request makes as many as it has decode steps.
double MostDecoding(const Replica& replica, double most) {
  const Workload& w = replica.scenario.workload;
  const double steps = Rounds(replica.speculator, w.output_tokens - 1.0);
  const double chunks = PrefillChunks(PromptShape(w, replica.scenario.deployment, 1));
  return std::min(most, steps * replica.model.shard.stages / chunks);
}

// The point that is in balance at `rate`, by bisection on the step's own curve: more sequences serve more requests.
OperatingPoint Balance(const Replica& replica, double most, double rate) {
  constexpr double kClose = 1e-7;
  double low = 0;
  double high = MostDecoding(replica, most);
  while (high - low > kClose * (1 + low)) {
    const double middle = (low + high) / 2;
    (OperatingPoint(replica, most, middle).Rate() < rate ? low : high) = middle;
  }
  return {replica, most, high};
}

absl::Status Unstable(const Replica& replica, double most, double stable) {
  const double replicas = replica.scenario.deployment.data_parallel;
  return Refusal(Reason::kUnstableLoad, "workload.request_rate_per_second",
                 absl::StrFormat("request_rate_per_second %g; %s on %s with at most %g sequences per replica serves "
                                 "below %g",
                                 *replica.scenario.workload.request_rate_per_second, replica.scenario.model->id,
                                 replica.scenario.hardware->id, most, stable * replicas));
}

// What a request meets at the point that is in balance.
Served ServedAt(const Replica& replica, const OperatingPoint& point, double rate) {
  const Workload& w = replica.scenario.workload;
  const double prefilling = rate * point.Prefill().value();  // share of the time; below 1, as the rate is stable
  Served served{.prefill = PromptPhase(replica, w, 1),
                .decode = point.Decode(),
                .decode_steps = point.Steps(),
                .running = point.running(),
                .held = HeldHalfway(w, point.running()),
                .read = point.running(),
                .requests_per_second = *w.request_rate_per_second};
  served.prefill_work = served.prefill;
  if (replica.speculator != nullptr) served.round = MeanRound(replica, point.running(), point.Steps());
  // Prompts of one length go first and one by one: the mean wait of a queue with constant service (M/D/1).
  served.prefill.queueing += MeanWait(rate, point.PromptSteps());
  served.prefill.queueing += point.Residual() + point.riding();
  const double stalls = prefilling / (1 - prefilling);  // prefills between the steps, for each second of them
  served.decode.queueing += point.Decode().Total() * stalls;
  served.step = [point, stalls](double j) {
    TimeParts step = point.Step(j);
    step.queueing += step.Total() * stalls;
    return step;
  };
  return served;
}

}  // namespace

absl::StatusOr<Served> ServeOpenLoop(const Replica& replica) {
  const double most = MostRunning(replica);
  if (most < 1) return OutOfMemory(replica.scenario, replica.capacity, replica.model.machine);
  const double rate = *replica.scenario.workload.request_rate_per_second / replica.scenario.deployment.data_parallel;
  const double stable = OperatingPoint(replica, most, MostDecoding(replica, most)).Rate();
  if (!(rate < stable)) return Unstable(replica, most, stable);
  return ServedAt(replica, Balance(replica, most, rate), rate);
}

}  // namespace foretoken
