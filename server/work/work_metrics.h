// The queues of large calls, for Prometheus: what waits, for how long, and what was refused and why.
#ifndef FORETOKEN_SERVER_WORK_WORK_METRICS_H_
#define FORETOKEN_SERVER_WORK_WORK_METRICS_H_

#include <vector>

#include "prometheus/collectable.h"
#include "prometheus/metric_family.h"
#include "server/work/fair_scheduler.h"

namespace foretoken::work {

// Thread-safe.
class WorkMetrics : public prometheus::Collectable {
 public:
  // The schedulers outlive the metrics.
  explicit WorkMetrics(std::vector<const FairScheduler*> schedulers) : schedulers_(std::move(schedulers)) {}

  std::vector<prometheus::MetricFamily> Collect() const override;

 private:
  std::vector<const FairScheduler*> schedulers_;
};

}  // namespace foretoken::work

#endif  // FORETOKEN_SERVER_WORK_WORK_METRICS_H_
