#include "server/rpc/sweep/frontier.h"

#include <iterator>

namespace foretoken::rpc {

void Frontier::Insert(const TradeOff& candidate) {
  auto next = by_latency_.upper_bound(candidate.latency);
  if (next != by_latency_.begin() && std::prev(next)->second.throughput >= candidate.throughput) {
    beater_ = std::prev(next)->second;
    return;
  }
  auto first = by_latency_.lower_bound(candidate.latency);
  while (first != by_latency_.end() && first->second.throughput <= candidate.throughput) {
    first = by_latency_.erase(first);
  }
  by_latency_.emplace_hint(first, candidate.latency, candidate);
}

std::vector<TradeOff> Frontier::Points(size_t limit) const {
  std::vector<TradeOff> all;
  all.reserve(by_latency_.size());
  for (const auto& [latency, point] : by_latency_) all.push_back(point);
  if (all.size() <= limit) return all;
  std::vector<TradeOff> thinned;
  for (size_t i = 0; i < limit; ++i) thinned.push_back(all[i * (all.size() - 1) / (limit - 1)]);
  return thinned;
}

}  // namespace foretoken::rpc
