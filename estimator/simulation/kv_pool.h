// The KV cache of one replica, in blocks. A block holds `block_tokens` tokens of one layer, because layers with a
// window keep fewer tokens than the others.
#ifndef FORETOKEN_ESTIMATOR_SIMULATION_KV_POOL_H_
#define FORETOKEN_ESTIMATOR_SIMULATION_KV_POOL_H_

#include <cstdint>

#include "absl/container/inlined_vector.h"
#include "estimator/step/shard.h"

namespace foretoken {

class KvPool {
 public:
  struct Group {
    int64_t layers = 0;  // as blocks of one layer each: a layer that keeps less counts as less
    int64_t window = 0;  // 0: all tokens are kept
  };

  // A pool for `tokens` tokens of all layers. REQUIRES: positive numbers.
  KvPool(const Shard& shard, int block_tokens, int64_t tokens);

  // Blocks of a sequence whose KV cache holds `context` tokens.
  int64_t BlocksOf(int64_t context) const;

  const absl::InlinedVector<Group, 2>& groups() const { return groups_; }
  int block_tokens() const { return block_tokens_; }
  int64_t blocks() const { return blocks_; }
  int64_t free() const { return free_; }
  double UsedShare() const { return 1 - static_cast<double>(free_) / static_cast<double>(blocks_); }

  void Take(int64_t blocks) { free_ -= blocks; }
  void Give(int64_t blocks) { free_ += blocks; }

 private:
  absl::InlinedVector<Group, 2> groups_;
  int64_t state_ = 0;  // blocks of a sequence whatever its context: states of recurrent layers
  int block_tokens_;
  int64_t blocks_ = 0;
  int64_t free_ = 0;
};

}  // namespace foretoken

#endif  // FORETOKEN_ESTIMATOR_SIMULATION_KV_POOL_H_
