#include "estimator/simulation/kv_pool.h"

#include <algorithm>
#include <cmath>

namespace foretoken {

KvPool::KvPool(const Shard& shard, int block_tokens, int64_t tokens) : block_tokens_(block_tokens) {
  int64_t layers = 0;
  for (const AttentionGroup& group : shard.attention) {
    groups_.push_back({.layers = std::llround(group.layers), .window = std::llround(group.window)});
    layers += groups_.back().layers;
  }
  free_ = blocks_ = tokens / block_tokens * layers;
}

int64_t KvPool::BlocksOf(int64_t context) const {
  int64_t blocks = 0;
  for (const Group& group : groups_) {
    const int64_t kept = group.window > 0 ? std::min(context, group.window) : context;
    blocks += group.layers * ((kept + block_tokens_ - 1) / block_tokens_);
  }
  return blocks;
}

}  // namespace foretoken
