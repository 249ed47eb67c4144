// A histogram that any number of threads observe into without a lock.
#ifndef FORETOKEN_SERVER_OPS_HISTOGRAM_H_
#define FORETOKEN_SERVER_OPS_HISTOGRAM_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "prometheus/client_metric.h"

namespace foretoken::ops {

class Histogram {
 public:
  // `bounds`: upper ends of the buckets, rising; one more bucket takes what is above.
  explicit Histogram(std::vector<double> bounds);

  // A few nanoseconds. Thread-safe.
  void Observe(double value);

  // What was observed so far. Counts and sum may differ by the observations of this very moment.
  prometheus::ClientMetric::Histogram Collect() const;

 private:
  std::vector<double> bounds_;
  std::unique_ptr<std::atomic<uint64_t>[]> counts_;  // bounds_.size() + 1
  std::atomic<double> sum_{0};
};

}  // namespace foretoken::ops

#endif  // FORETOKEN_SERVER_OPS_HISTOGRAM_H_
