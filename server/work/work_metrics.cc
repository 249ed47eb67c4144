#include "server/work/work_metrics.h"

#include <utility>

namespace foretoken::work {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;

ClientMetric Labelled(const FairScheduler& scheduler) {
  ClientMetric metric;
  metric.label = {{"queue", scheduler.name()}};
  return metric;
}

void AddGauge(const FairScheduler& scheduler, double value, MetricFamily& family) {
  family.metric.push_back(Labelled(scheduler));
  family.metric.back().gauge.value = value;
}

void AddRefused(const FairScheduler& scheduler, const FairScheduler::Statistics& now, MetricFamily& family) {
  for (int cause = 0; cause < kNumRefusalCauses; ++cause) {
    ClientMetric metric = Labelled(scheduler);
    metric.label.push_back({"reason", NameOf(static_cast<RefusalCause>(cause))});
    metric.counter.value = static_cast<double>(now.refused[static_cast<size_t>(cause)]);
    family.metric.push_back(std::move(metric));
  }
}

}  // namespace

std::vector<MetricFamily> WorkMetrics::Collect() const {
  MetricFamily calls{"foretoken_queue_calls", "Large calls in the server, until they end.", MetricType::Gauge, {}};
  MetricFamily waiting{"foretoken_queue_waiting", "Large calls that wait for a turn.", MetricType::Gauge, {}};
  MetricFamily bytes{"foretoken_queue_bytes", "Bytes of the requests of large calls.", MetricType::Gauge, {}};
  MetricFamily delay{"foretoken_queue_delay_seconds",
                     "Time from the arrival of a large call to its first turn.",
                     MetricType::Histogram,
                     {}};
  MetricFamily refused{
      "foretoken_queue_refused_total", "Large calls refused at once, by reason.", MetricType::Counter, {}};
  for (const FairScheduler* scheduler : schedulers_) {
    FairScheduler::Statistics now = scheduler->statistics();
    AddGauge(*scheduler, now.jobs, calls);
    AddGauge(*scheduler, now.waiting, waiting);
    AddGauge(*scheduler, static_cast<double>(now.bytes), bytes);
    delay.metric.push_back(Labelled(*scheduler));
    delay.metric.back().histogram = std::move(now.delay_seconds);
    AddRefused(*scheduler, now, refused);
  }
  return {std::move(calls), std::move(waiting), std::move(bytes), std::move(delay), std::move(refused)};
}

}  // namespace foretoken::work
