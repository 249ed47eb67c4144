// The Pareto frontier of points that arrive one by one: low latency against high throughput. Memory is that of the
// frontier, not of the points.
#ifndef FORETOKEN_SERVER_RPC_SWEEP_FRONTIER_H_
#define FORETOKEN_SERVER_RPC_SWEEP_FRONTIER_H_

#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <vector>

namespace foretoken::rpc {

struct TradeOff {
  int64_t point = 0;
  double latency = 0;
  double throughput = 0;

  bool operator==(const TradeOff&) const = default;
};

class Frontier {
 public:
  // Keeps `candidate` unless a point before it is at least as good in both; drops what it beats. O(log size), but of
  // points that come in the order of a grid most are beaten by what beat the one before.
  void Add(const TradeOff& candidate) {
    if (beater_.latency <= candidate.latency && beater_.throughput >= candidate.throughput) return;
    Insert(candidate);
  }

  // By rising latency, and so by rising throughput. More than `limit` points are thinned evenly, ends included.
  // REQUIRES: limit >= 2.
  std::vector<TradeOff> Points(size_t limit) const;

  size_t size() const { return by_latency_.size(); }

 private:
  void Insert(const TradeOff& candidate);

  // The last point that beat a candidate; at first a point that beats none.
  TradeOff beater_ = {.latency = std::numeric_limits<double>::infinity()};
  std::map<double, TradeOff> by_latency_;  // throughput rises with latency
};

}  // namespace foretoken::rpc

#endif  // FORETOKEN_SERVER_RPC_SWEEP_FRONTIER_H_
