#include "server/ops/guard_metrics.h"

#include <utility>

namespace foretoken::ops {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;

MetricFamily Gauge(const char* name, const char* help, double value) {
  ClientMetric metric;
  metric.gauge.value = value;
  return {name, help, MetricType::Gauge, {metric}};
}

MetricFamily Counter(const char* name, const char* help, uint64_t value) {
  ClientMetric metric;
  metric.counter.value = static_cast<double>(value);
  return {name, help, MetricType::Counter, {metric}};
}

MetricFamily RefusedConnections(const guard::Listener::Refused& refused) {
  MetricFamily family{
      "foretoken_connections_refused_total", "Connections that were refused, by reason.", MetricType::Counter, {}};
  const std::pair<const char*, uint64_t> counts[] = {{"all", refused.all},
                                                     {"address", refused.address},
                                                     {"descriptors", refused.descriptors},
                                                     {"memory", refused.memory}};
  for (const auto& [reason, count] : counts) {
    ClientMetric metric;
    metric.label = {{"reason", reason}};
    metric.counter.value = static_cast<double>(count);
    family.metric.push_back(std::move(metric));
  }
  return family;
}

}  // namespace

std::vector<MetricFamily> GuardMetrics::Collect() const {
  const GrpcServer::Guards guards = server_->guards();
  return {
      Gauge("foretoken_memory_limit_bytes", "Memory that the process keeps below.",
            static_cast<double>(guards.memory_limit_bytes)),
      Gauge("foretoken_memory_short", "1: large calls and new connections are refused for want of memory.",
            guards.memory_short ? 1 : 0),
      Gauge("foretoken_held_bytes", "Replies and open sweeps that wait for their callers, in memory.",
            static_cast<double>(guards.held_bytes)),
      Counter("foretoken_held_refused_total", "Large calls that were refused because too much waits to be read.",
              guards.held_refused),
      Counter("foretoken_held_cancelled_total", "Calls that were ended because their callers did not read.",
              guards.held_cancelled),
      Gauge("foretoken_connections", "Open connections.", guards.connections),
      RefusedConnections(guards.refused_connections),
      Counter("foretoken_connections_cut_total", "Connections that were ended because memory was short.",
              guards.cut_connections),
  };
}

}  // namespace foretoken::ops
