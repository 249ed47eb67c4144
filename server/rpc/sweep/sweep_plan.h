// A sweep that was checked: its axes, what to return, and the scenario that its points start from.
#ifndef FORETOKEN_SERVER_RPC_SWEEP_SWEEP_PLAN_H_
#define FORETOKEN_SERVER_RPC_SWEEP_SWEEP_PLAN_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "foretoken/v1/estimator_service.pb.h"
#include "server/catalog/entries/snapshot.h"
#include "server/rpc/estimate/cpu_budget.h"
#include "server/rpc/sweep/sweep_axis.h"

namespace foretoken::rpc {

// Immutable. Holds its snapshot, so that every point of one sweep sees one catalog.
struct SweepPlan {
  std::shared_ptr<const catalog::Snapshot> snapshot;
  absl::Time now;
  v1::Scenario base;
  std::vector<Axis> axes;
  int64_t total_points = 0;
  std::vector<v1::Metric> metrics;
  v1::FrontierMetric frontier_metric = v1::FRONTIER_METRIC_TPOT;
  int max_error_details = 10;
  int chunk_points = 2048;

  v1::SweepHeader Header() const;
};

// Checks `request`. What is wrong with every point is refused here: a missing field, an unknown id that all share, an
// axis value out of its field's range. What is wrong with some points only is their own status later.
// An axis inside hardware_spec or model_spec over a base that names an id varies the catalog entry's figures.
//
// Errors: as EstimatorService.Sweep.
// Its points take at most `max_cpu` of CPU time, told from a sample of them.
absl::StatusOr<SweepPlan> PlanSweep(const v1::SweepRequest& request, std::shared_ptr<const catalog::Snapshot> snapshot,
                                    absl::Time now, int64_t max_points, absl::Duration max_cpu = kDefaultCpuPerCall);

// An axis whose points a row answers at once.
bool IsRisingOutput(const Axis& axis);

}  // namespace foretoken::rpc

#endif  // FORETOKEN_SERVER_RPC_SWEEP_SWEEP_PLAN_H_
