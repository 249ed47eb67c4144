// The sequences that decode: their number, their mean context, the blocks that their next steps take, and who ends
// when. All of it is kept by sums, so that a step costs the same for one sequence as for a thousand.
//
// Every step of the set gives each sequence one token. `tick` counts these steps.
#ifndef FORETOKEN_ESTIMATOR_SIMULATION_DECODE_SET_H_
#define FORETOKEN_ESTIMATOR_SIMULATION_DECODE_SET_H_

#include <cstdint>
#include <vector>

#include "estimator/simulation/kv_pool.h"

namespace foretoken {

class DecodeSet {
 public:
  // `grows`: sequences take blocks as they grow; false where they hold all from the start. The pool outlives the set.
  DecodeSet(const KvPool& pool, bool grows);

  int64_t size() const { return size_; }
  int64_t tick() const { return tick_; }
  // What is kept of ends and windows; bounded by the sequences.
  size_t num_events() const { return events_.size(); }

  // Sequence `id` joins with `context` tokens in its KV cache, and ends after `steps` steps, at least 1.
  void Join(int id, int64_t context, int64_t steps);
  // It leaves before its end.
  void Leave(int id);
  // Tokens in the KV cache of a sequence that is in the set, or has just ended.
  int64_t ContextOf(int id) const { return members_[static_cast<size_t>(id)].origin + tick_; }

  // Mean tokens that the sequences see in the `step`-th step from now; the next is 1. REQUIRES: size() > 0.
  double MeanContext(int64_t step) const {
    return static_cast<double>(origins_) / static_cast<double>(size_) + static_cast<double>(tick_ + step);
  }
  // Blocks that the next `steps` steps take.
  int64_t Growth(int64_t steps) const;
  // The same for as many steps as a block has tokens, none of them the last of a sequence.
  int64_t GrowthOfBlock() const;
  // Steps until the next sequence ends or stops to grow, at least 1. REQUIRES: size() > 0.
  int64_t StepsToEvent();
  // Takes so many steps, and returns who ended, by number. REQUIRES: 1 <= steps <= StepsToEvent(). The reference holds
  // until the next call.
  const std::vector<int>& Advance(int64_t steps);

 private:
  struct Member {
    int64_t origin = 0;  // context less tick
    uint32_t stay = 0;   // how often it joined and left, so that events of an earlier stay are known
    bool inside = false;
  };
  struct Event {
    int64_t tick = 0;
    int id = 0;
    int group = 0;  // whose window is full; kEnd: the sequence ends
    uint32_t stay = 0;
  };
  static constexpr int kEnd = -1;

  static bool Later(const Event& a, const Event& b);
  void Push(const Event& event);
  void Pop();
  bool IsStale(const Event& event) const;
  void DropStale();
  void CountGrowth(const Member& member, size_t group, int64_t by);
  bool Grows(const Member& member, size_t group) const;
  void Remove(Member& member);
  // Blocks that the step of this tick takes.
  int64_t GrowthAt(int64_t tick) const;

  const KvPool& pool_;
  bool grows_;
  int64_t tick_ = 0;
  int64_t size_ = 0;
  int64_t origins_ = 0;  // their sum
  std::vector<Member> members_;
  std::vector<Event> events_;                  // a heap, the earliest first
  std::vector<std::vector<int64_t>> growing_;  // of each group: sequences that begin a block where tick mod block is so
  std::vector<int> ended_;
};

}  // namespace foretoken

#endif  // FORETOKEN_ESTIMATOR_SIMULATION_DECODE_SET_H_
