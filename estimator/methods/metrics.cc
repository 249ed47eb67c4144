#include "estimator/methods/metrics.h"

#include "estimator/methods/cost.h"
#include "estimator/methods/energy.h"
#include "estimator/methods/slo.h"
#include "estimator/methods/utilisation.h"
#include "estimator/phases/memory_use.h"
#include "estimator/scenario/calibration.h"
#include "estimator/scenario/output_lengths.h"

namespace foretoken {
namespace {

// Devices of both pools, if prefill has its own.
int DevicesOf(const Scenario& scenario, const Served& served) {
  if (!served.disaggregation) return scenario.deployment.devices();
  return served.disaggregation->prefill_devices +
         scenario.disaggregation->decode_replicas * scenario.deployment.devices();
}

}  // namespace

void FillMetrics(const Replica& replica, const Served& served, Provenance provenance, Estimate& estimate) {
  estimate.devices = DevicesOf(replica.scenario, served);
  estimate.waves = static_cast<int>(served.waves);
  const double fed = served.running_batches.empty()
                         ? served.held
                         : served.running;  // sequences of longer contexts count as several in `held`
  estimate.memory = MemoryOf(replica.scenario, replica.model, replica.capacity, served.held, fed);
  FillPhase(served.prefill, provenance, estimate.prefill);
  FillPhase(served.decode, provenance, estimate.decode);
  estimate.decode_steps = served.decode_steps;
  estimate.tpot_is_next_step = served.decode_steps < 1;
  estimate.kpi.reset();
  estimate.ttft.time = estimate.prefill.time;
  estimate.e2e.time = estimate.prefill.time + estimate.decode.time;
  if (estimate.tpot_is_next_step) {
    const TimeParts next = served.step(1);
    estimate.decode.bound = next.LargestPart();
    estimate.tpot.time = next.Total();
  } else {
    estimate.tpot.time = estimate.decode.time / served.decode_steps;
  }
  estimate.throughput = ThroughputOf(served.requests_per_second, MeanOutput(replica.scenario.workload),
                                     estimate.devices, estimate.tpot.time);
  estimate.mbu = DecodeBandwidthUtilization(replica, served, estimate.tpot.time);
  estimate.mfu = PrefillUtilization(replica, served);
  estimate.speculation = served.round;
  estimate.disaggregation = served.disaggregation;
  estimate.energy = EnergyOf(replica, served);
}

void FillVerdicts(const Scenario& scenario, const Calibration* calibration, Estimate& estimate) {
  if (calibration != nullptr) estimate.calibration_id = calibration->id;
  SetBands(calibration, estimate);
  estimate.cost = CostOf(scenario, estimate.throughput, estimate.warnings);
  estimate.slo.reset();
  if (scenario.slo) estimate.slo = JudgeSlo(*scenario.slo, estimate);
}

}  // namespace foretoken
