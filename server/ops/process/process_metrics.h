// The process's use of the machine, under the names that Prometheus's own client libraries give:
// process_cpu_seconds_total and its like.
#ifndef FORETOKEN_SERVER_OPS_PROCESS_PROCESS_METRICS_H_
#define FORETOKEN_SERVER_OPS_PROCESS_PROCESS_METRICS_H_

#include <vector>

#include "prometheus/collectable.h"
#include "prometheus/metric_family.h"

namespace foretoken::ops {

// Read from /proc at each scrape; a figure that cannot be read is absent. Thread-safe.
class ProcessMetrics : public prometheus::Collectable {
 public:
  std::vector<prometheus::MetricFamily> Collect() const override;
};

}  // namespace foretoken::ops

#endif  // FORETOKEN_SERVER_OPS_PROCESS_PROCESS_METRICS_H_
