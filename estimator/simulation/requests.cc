#include "estimator/simulation/requests.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "estimator/phases/phases.h"
#include "estimator/simulation/settings.h"

namespace foretoken {
namespace {

// The rate of one replica; 0: the arrivals are no open loop.
double RateOf(const Scenario& scenario, const SimulationSpec& spec) {
  const std::optional<double>& workload = scenario.workload.request_rate_per_second;
  const double replicas = scenario.deployment.data_parallel;
  if (const auto* open = std::get_if<OpenLoop>(&spec.arrivals)) {
    return open->requests_per_second.value_or(workload.value_or(0)) / replicas;
  }
  if (std::holds_alternative<std::monostate>(spec.arrivals)) return workload.value_or(0) / replicas;
  return 0;
}

double ShapeOf(const SimulationSpec& spec) {
  const auto* open = std::get_if<OpenLoop>(&spec.arrivals);
  return open == nullptr ? 1 : 1 / (open->cv * open->cv);
}

}  // namespace

RequestSource::RequestSource(const Scenario& scenario, const SimulationSpec& spec, const Efficiencies& efficiencies,
                             std::optional<int64_t> most)
    : admission_(efficiencies.admission),
      admission_per_request_(efficiencies.admission_per_request),
      per_prompt_token_(TakeInToken(efficiencies, scenario.workload)),
      prompts_(PromptsOf(scenario, spec), spec.seed, Random::Stream::kPrompts),
      outputs_(OutputsOf(scenario, spec), spec.seed, Random::Stream::kOutputs),
      most_(most),
      rate_(RateOf(scenario, spec)),
      shape_(ShapeOf(spec)),
      gaps_(spec.seed, Random::Stream::kArrivals) {
  if (const auto* trace = std::get_if<Trace>(&spec.arrivals)) {
    const auto replicas = static_cast<size_t>(scenario.deployment.data_parallel);
    for (size_t i = 0; i < trace->requests.size(); i += replicas) {
      const Trace::Request& r = trace->requests[i];
      Push({.arrival = r.arrival_seconds, .prompt = r.prompt_tokens, .output = r.output_tokens}, 1);
    }
  } else if (const int64_t loop = LoopOf(scenario, spec); loop > 0) {
    const auto* stated = std::get_if<ClosedLoop>(&spec.arrivals);
    StartLoop(loop, stated != nullptr && stated->staggered);
  }
}

void RequestSource::StartLoop(int64_t concurrency, bool staggered) {
  loop_ = true;
  for (int64_t i = 0; i < concurrency && MayIssue(); ++i) {
    SimulatedArrival first{.prompt = prompts_.Next(), .output = outputs_.Next()};
    if (staggered) first.output = static_cast<int>(std::max<int64_t>(1, first.output * (i + 1) / concurrency));
    Push(first, static_cast<double>(concurrency));
  }
}

// Requests queue in the order of their arrival.
void RequestSource::Push(SimulatedArrival arrival, double together) {
  const Seconds admission = admission_ + together * admission_per_request_ + arrival.prompt * per_prompt_token_;
  arrival.queued = last_queued_ = std::max(last_queued_, arrival.arrival + admission.value());
  pending_.push_back(arrival);
  ++issued_;
}

void RequestSource::Draw() {
  last_arrival_ += (shape_ == 1 ? gaps_.Exponential() : gaps_.Gamma(shape_) / shape_) / rate_;
  Push({.arrival = last_arrival_, .prompt = prompts_.Next(), .output = outputs_.Next()}, 1);
}

double RequestSource::NextQueued() {
  if (pending_.empty() && rate_ > 0 && MayIssue()) Draw();
  return pending_.empty() ? std::numeric_limits<double>::infinity() : pending_.front().queued;
}

SimulatedArrival RequestSource::Take() {
  const SimulatedArrival arrival = pending_.front();
  pending_.pop_front();
  return arrival;
}

void RequestSource::Ended(double now, int64_t count) {
  if (!loop_) return;
  for (int64_t i = 0; i < count && MayIssue(); ++i) {
    Push({.arrival = now, .prompt = prompts_.Next(), .output = outputs_.Next()}, static_cast<double>(count));
  }
}

}  // namespace foretoken
