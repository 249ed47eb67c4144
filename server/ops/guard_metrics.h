// How near the process is to its limits of memory and connections, and what was refused for them.
#ifndef FORETOKEN_SERVER_OPS_GUARD_METRICS_H_
#define FORETOKEN_SERVER_OPS_GUARD_METRICS_H_

#include <vector>

#include "prometheus/collectable.h"
#include "prometheus/metric_family.h"
#include "server/ops/grpc_server.h"

namespace foretoken::ops {

// Thread-safe. `server` outlives it.
class GuardMetrics : public prometheus::Collectable {
 public:
  explicit GuardMetrics(const GrpcServer* server) : server_(server) {}

  std::vector<prometheus::MetricFamily> Collect() const override;

 private:
  const GrpcServer* server_;
};

}  // namespace foretoken::ops

#endif  // FORETOKEN_SERVER_OPS_GUARD_METRICS_H_
