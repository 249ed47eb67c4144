#include "estimator/methods/energy.h"

#include <algorithm>

#include "estimator/scenario/output_lengths.h"

namespace foretoken {
namespace {

// A phase as `sequences` of one replica share it.
struct Share {
  const Scenario& scenario;  // whose devices work
  TimeParts parts;
  Seconds time;  // without waiting
  double sequences;
};

double Utilization(const Share& share) {
  if (!(share.time.value() > 0)) return 0;
  return std::min(1.0, std::max(share.parts.compute, share.parts.memory) / share.time);
}

double Joules(const Share& share) {
  const Hardware& hardware = *share.scenario.hardware;
  const Deployment& deployment = share.scenario.deployment;
  const double idle = hardware.idle_watts.value_or(0);
  const double watts = idle + (*hardware.tdp_watts - idle) * Utilization(share);
  return deployment.tensor_parallel * deployment.pipeline_parallel * watts * share.time.value() / share.sequences;
}

}  // namespace

std::optional<EnergyEstimate> EnergyOf(const Replica& replica, const Served& served) {
  const Scenario& here = replica.scenario;
  const Scenario& there = replica.prefill_pool != nullptr ? replica.prefill_pool->scenario : here;
  if (!here.hardware->tdp_watts || !there.hardware->tdp_watts) return std::nullopt;
  const Share prefill{there, served.prefill_work, served.prefill_work.Total(), served.prefilled};
  const Share decode{here, served.decode, served.decode.Total() - served.decode.queueing, served.running};
  const double joules = Joules(prefill) + Joules(decode);
  if (!(joules > 0)) return std::nullopt;  // "at least 0 J" says nothing
  return EnergyEstimate{.joules_per_request = joules,
                        .joules_per_output_token = joules / MeanOutput(here.workload),
                        .prefill_utilization = Utilization(prefill),
                        .decode_utilization = Utilization(decode),
                        .is_lower_bound = !here.hardware->idle_watts || !there.hardware->idle_watts};
}

}  // namespace foretoken
