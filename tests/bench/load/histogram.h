// Latencies in logarithmic buckets, each 1/64 of its power of two wide: quantiles to 1.6%, from 1 ns to hours.
#ifndef FORETOKEN_TESTS_BENCH_LOAD_HISTOGRAM_H_
#define FORETOKEN_TESTS_BENCH_LOAD_HISTOGRAM_H_

#include <array>
#include <bit>
#include <cstdint>

namespace foretoken::bench {

class Histogram {
 public:
  void Add(uint64_t nanoseconds) {
    ++counts_[BucketOf(nanoseconds)];
    ++total_;
  }

  uint64_t total() const { return total_; }

  // The upper end of the bucket below which a share of `quantile` lies; 0 where nothing was added.
  double Quantile(double quantile) const {
    const double wanted = quantile * static_cast<double>(total_);
    uint64_t seen = 0;
    for (size_t bucket = 0; bucket < counts_.size(); ++bucket) {
      seen += counts_[bucket];
      if (seen > 0 && static_cast<double>(seen) >= wanted) return UpperEnd(bucket);
    }
    return 0;
  }

 private:
  static constexpr int kBits = 6;
  static constexpr uint64_t kSub = 1 << kBits;

  static size_t BucketOf(uint64_t value) {
    if (value < kSub) return value;
    const int shift = static_cast<int>(std::bit_width(value)) - 1 - kBits;
    return static_cast<size_t>(shift) * kSub + (value >> shift);
  }
  static double UpperEnd(size_t bucket) {
    if (bucket < 2 * kSub) return static_cast<double>(bucket);
    const size_t shift = bucket / kSub - 1;
    return static_cast<double>((bucket - shift * kSub + 1) << shift);
  }

  std::array<uint64_t, 60 * kSub> counts_{};
  uint64_t total_ = 0;
};

}  // namespace foretoken::bench

#endif  // FORETOKEN_TESTS_BENCH_LOAD_HISTOGRAM_H_
