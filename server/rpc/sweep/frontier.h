// The Pareto frontier of a sweep: the points to which no other point is better in both latency and throughput. Points
// arrive one by one. Only the frontier is held in memory.
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
  // Keeps `candidate` unless an earlier point is at least as good in both figures. Drops the points that it beats.
  // O(log size). Points of a grid are mostly beaten by the point that beat the one before, which is tried first.
  void Add(const TradeOff& candidate) {
    if (beater_.latency <= candidate.latency && beater_.throughput >= candidate.throughput) return;
    Insert(candidate);
  }

  // The frontier by rising latency, which is rising throughput too. Where it has more than `limit` points, points are
  // left out evenly. The first and the last always stay.
  // REQUIRES: limit >= 2.
  std::vector<TradeOff> Points(size_t limit) const;

  size_t size() const { return by_latency_.size(); }

 private:
  void Insert(const TradeOff& candidate);

  // The last point that beat a candidate. Before the first candidate: a point that beats none.
  TradeOff beater_ = {.latency = std::numeric_limits<double>::infinity()};
  std::map<double, TradeOff> by_latency_;  // throughput rises with latency
};

}  // namespace foretoken::rpc

#endif  // FORETOKEN_SERVER_RPC_SWEEP_FRONTIER_H_
