#include "server/ops/histogram.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace foretoken::ops {

Histogram::Histogram(std::vector<double> bounds)
    : bounds_(std::move(bounds)), counts_(std::make_unique<std::atomic<uint64_t>[]>(bounds_.size() + 1)) {}

void Histogram::Observe(double value) {
  const auto bucket = std::lower_bound(bounds_.begin(), bounds_.end(), value) - bounds_.begin();
  counts_[static_cast<size_t>(bucket)].fetch_add(1, std::memory_order_relaxed);
  sum_.fetch_add(value, std::memory_order_relaxed);
}

prometheus::ClientMetric::Histogram Histogram::Collect() const {
  prometheus::ClientMetric::Histogram histogram;
  uint64_t total = 0;
  for (size_t i = 0; i <= bounds_.size(); ++i) {
    total += counts_[i].load(std::memory_order_relaxed);
    const double bound = i < bounds_.size() ? bounds_[i] : std::numeric_limits<double>::infinity();
    histogram.bucket.push_back({.cumulative_count = total, .upper_bound = bound});
  }
  histogram.sample_count = total;
  histogram.sample_sum = sum_.load(std::memory_order_relaxed);
  return histogram;
}

}  // namespace foretoken::ops
