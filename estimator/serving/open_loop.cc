#include "estimator/serving/open_loop.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "absl/strings/str_cat.h"
#include "estimator/phases/mixed_prefill.h"
#include "estimator/phases/phases.h"
#include "estimator/serving/batch.h"
#include "estimator/serving/queueing.h"
#include "estimator/serving/rising_zero.h"

namespace foretoken {
namespace {

// Prompts that a step takes at most.
double MostTogether(const Replica& replica, double most) {
  return std::min(PromptsThatFit(replica.scenario.workload, replica.scenario.deployment), std::max(1.0, most));
}

// Decode steps of a request for each step of its prompt. By Little's law, this is also the number of decoding sequences
// per prompt in a step. With PP stages, PP steps follow each other while a microbatch makes one token.
double StepsPerPrompt(const Replica& replica) {
  const Workload& w = replica.scenario.workload;
  const double rounds = Rounds(replica.speculator, w.output_tokens - 1.0);
  return rounds * replica.model.shard.stages / PrefillChunks(PromptShape(w, replica.scenario.deployment, 1));
}

// The replica while each step takes `arriving` prompts on average, possibly less than one. Their number is binomial, up
// to as many as fit. An arrival sees the decoding sequences; a decoding sequence also sees itself.
class OperatingPoint {
 public:
  OperatingPoint(const Replica& replica, double most, double arriving)
      : replica_(replica),
        stages_(replica.model.shard.stages),
        most_(most),
        fit_(MostTogether(replica, most)),
        arriving_(arriving),
        decoding_(arriving * StepsPerPrompt(replica)),
        running_(std::min(most, decoding_ + 1)),
        together_(StepQueue{.arriving = arriving, .most = fit_, .idle = std::exp(-decoding_)}.Group()),
        mixed_(AddToRounds(replica.model, replica.speculator, Prompts(together_), Decodes())),
        curve_(replica.model, replica.speculator, std::max(1.0, running_ / stages_)),
        decode_(curve_.Sum(Prompt() + 1, Prompt() + Steps())) {}

  double Steps() const { return replica_.scenario.workload.output_tokens - 1.0; }
  double arriving() const { return arriving_; }
  double running() const { return running_; }
  double SlotsTaken() const { return decoding_ / most_; }
  // Not kept, because only the point in balance is asked.
  Seconds FromDecodes() const {
    return MixRounds(replica_.model, replica_.speculator, Prompts(together_), Decodes()).from_decodes;
  }
  // All decode steps of a request, without the prefills between them.
  const TimeParts& Decode() const { return decode_; }
  std::function<TimeParts(double)> Step() const {
    return [curve = curve_, prompt = Prompt()](double j) { return curve.Step(prompt + j); };
  }
  // Time that the prefill of a request takes from the other requests.
  Seconds Prefill() const { return mixed_.added / (together_ * stages_); }
  // The rate at which this point is in balance: Little's law, decoding = rate * decode / (1 - rate * prefill), solved
  // for the rate.
  double Rate() const {
    if (Steps() < 1) return arriving_ * stages_ / mixed_.steps.value();
    return decoding_ / (Decode().Total() + decoding_ * Prefill()).value();
  }
  // The highest sustainable rate, limited by decode or by prefill throughput. REQUIRES: this is the point with most
  // requests.
  double HighestRate() const { return std::min(Rate(), fit_ * stages_ / Mixed(fit_).value()); }
  // The queue of prompts at this point, which is in balance at `rate`. If a step takes one prompt at most, a prompt of
  // several steps counts as one long step.
  StepQueue Queue(double rate) const {
    const Seconds empty = EmptyStep();
    const Seconds taking = mixed_.steps / stages_;
    const Seconds added = std::max(Seconds(0), taking - empty);
    const double long_steps = rate * empty.value() / (1 - rate * added.value());
    return {.rate = rate,
            .arriving = fit_ > 1 ? arriving_ : long_steps,
            .most = fit_,
            .idle = std::exp(-decoding_),
            .empty = empty,
            .taking = taking,
            .each = (1 / fit_) * added / together_ + (1 - 1 / fit_) * Slope(),
            .longest = Mixed(fit_) / stages_};
  }

 private:
  double Prompt() const { return replica_.scenario.workload.prompt_tokens; }
  CoScheduledDecodes Decodes() const {
    return {.sequences = decoding_ / stages_, .context = replica_.scenario.workload.mean_context()};
  }
  PrefillShape Prompts(double together) const {
    return PromptShape(replica_.scenario.workload, replica_.scenario.deployment, together);
  }
  // The steps of so many prompts and the decodes.
  Seconds Mixed(double together) const {
    return AddToRounds(replica_.model, replica_.speculator, Prompts(together), Decodes()).steps;
  }
  // Time that one prompt more adds to a step that takes prompts, from a difference of half a prompt.
  Seconds Slope() const {
    constexpr double kHalf = 0.5;
    const double other = together_ + kHalf <= fit_ ? together_ + kHalf : together_ - kHalf;
    return std::max(Seconds(0), (Mixed(other) - mixed_.steps) / ((other - together_) * stages_));
  }
  // A step without a prompt; if no sequence decodes, the overhead of a step.
  Seconds EmptyStep() const {
    if (Steps() < 1) return StepTime(replica_.model, {}).Total() / stages_;
    return Decode().Total() / (Rounds(replica_.speculator, Steps()) * stages_);
  }

  const Replica& replica_;
  double stages_;
  double most_;
  double fit_;
  double arriving_;
  double decoding_;  // sequences; 0 if the first token is the last
  double running_;
  double together_;  // prompts in a step that takes any
  MixedPrefill mixed_;
  TokenCurve curve_;
  TimeParts decode_;
};

// Most prompts that a step takes on average: as many as fit, or as many as keep all batch slots taken.
double MostArriving(const Replica& replica, double most) {
  const double fit = MostTogether(replica, most);
  const double each = StepsPerPrompt(replica);
  return each > 0 ? std::min(fit, most / each) : fit;
}

// The point that is in balance at `rate`, by bisection, because more sequences serve more requests per second. `full`
// is the point with most requests, and serves more.
OperatingPoint Balance(const Replica& replica, double most, const OperatingPoint& full, double rate) {
  constexpr int kHalvings = 40;
  constexpr double kNarrow = 1e-13;  // below the last halving
  // How far the arrivals of a point are above those that it keeps up with at `rate`, almost a line.
  const auto excess_at = [rate](const OperatingPoint& point) {
    const double serves = point.Rate();
    return (serves - rate) * (point.arriving() / serves);
  };
  const auto excess = [&](double arriving) { return excess_at(OperatingPoint(replica, most, arriving)); };
  double low = 0;
  double high = full.arriving();
  RisingZero zero(excess, low, high);
  zero.Narrow(high * (rate / full.Rate()), excess_at(full), kNarrow * high);
  for (int i = 0; i < kHalvings; ++i) {
    const double middle = (low + high) / 2;
    (zero.IsBelow(middle) ? low : high) = middle;
  }
  return {replica, most, high};
}

// The times of a request at the point in balance. More prompts than on average arrive while the request waits and is
// prefilled, and delay its decode.
Served ServedAt(const Replica& replica, double most, const OperatingPoint& full, double rate) {
  const OperatingPoint point = Balance(replica, most, full, rate);
  const Seconds from_decodes = point.FromDecodes();
  const Workload& w = replica.scenario.workload;
  const StepQueue queue = point.Queue(rate);
  const double together = queue.Together();
  Served served{.decode = point.Decode(),
                .decode_steps = point.Steps(),
                .running = point.running(),
                .held = HeldHalfway(w, point.running()),
                .read = point.running(),
                .requests_per_second = *w.request_rate_per_second};
  FillPrompts(replica, together, served);
  if (replica.speculator != nullptr) served.round = MeanRound(replica, point.running(), point.Steps());
  served.prefill.queueing += queue.Wait() + from_decodes + MeanWait(rate, PrefixLoad(replica.model, w, 1));
  const double prefilling = rate * point.Prefill().value();  // share of the time; below 1, as the rate is stable
  const double stalls = prefilling / (1 - prefilling);       // prefills between the steps, for each second of them
  const Seconds following = queue.Followers(StepsPerPrompt(replica)) * std::min(queue.each, point.Prefill());
  served.decode.queueing += point.Decode().Total() * stalls + following;
  const Seconds in_slot = served.prefill_work.Total() + from_decodes + served.decode.Total();
  served.prefill.queueing += SlotWait(point.SlotsTaken(), most, in_slot);
  if (!replica.steps_wanted) return served;
  const Seconds each = following / std::max(1.0, point.Steps());
  served.step = [step = point.Step(), stalls, each](double j) {
    TimeParts parts = step(j);
    parts.queueing += parts.Total() * stalls + each;
    return parts;
  };
  return served;
}

}  // namespace

absl::StatusOr<Served> ServeOpenLoop(const Replica& replica) {
  const double most = MostRunning(replica);
  if (most < 1) return OutOfMemory(replica.scenario, replica.capacity, replica.model.machine);
  const double rate = *replica.scenario.workload.request_rate_per_second / replica.scenario.deployment.data_parallel;
  const OperatingPoint full(replica, most, MostArriving(replica, most));
  const double stable = full.HighestRate();
  const double loaded = 1 / PrefixLoad(replica.model, replica.scenario.workload, 1).value();
  if (!(rate < std::min(stable, loaded))) {
    if (loaded < stable) return Unstable(replica, "loading prefixes", loaded);
    return Unstable(replica, absl::StrCat("with at most ", most, " sequences"), stable);
  }
  return ServedAt(replica, most, full, rate);
}

}  // namespace foretoken
