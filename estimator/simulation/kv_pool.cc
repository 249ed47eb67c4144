#include "estimator/simulation/kv_pool.h"

#include <algorithm>
#include <cmath>

#include "estimator/phases/capacity.h"

namespace foretoken {
namespace {

// Blocks that a layer is cut in: one, unless some layers keep less of a token than others.
double PartsOfLayer(const Shard& shard) {
  constexpr double kParts = 256;
  for (const AttentionGroup& group : shard.attention) {
    if (group.kv_share != 1) return kParts;
  }
  return 1;
}

}  // namespace

KvPool::KvPool(const Shard& shard, int block_tokens, int64_t tokens) : block_tokens_(block_tokens) {
  int64_t layers = 0;
  const double parts = PartsOfLayer(shard);
  for (const AttentionGroup& group : shard.attention) {
    groups_.push_back({.layers = std::llround(group.layers * group.kv_share * parts),
                       .window = group.keeps_all ? 0 : std::llround(group.window)});
    layers += groups_.back().layers;
  }
  free_ = blocks_ = tokens / block_tokens * layers;
  if (shard.state_per_sequence.value() <= 0) return;
  const Bytes block = KvOfTokens(shard, block_tokens) / parts;
  state_ = std::llround(std::ceil(shard.state_per_sequence / block));
}

int64_t KvPool::BlocksOf(int64_t context) const {
  int64_t blocks = context > 0 ? state_ : 0;
  for (const Group& group : groups_) {
    const int64_t kept = group.window > 0 ? std::min(context, group.window) : context;
    blocks += group.layers * ((kept + block_tokens_ - 1) / block_tokens_);
  }
  return blocks;
}

}  // namespace foretoken
