#include "estimator/simulation/decode_set.h"

#include <gtest/gtest.h>

#include <map>
#include <numeric>
#include <random>
#include <vector>

namespace foretoken {
namespace {

// Two layers that see all, three that see the last 32 tokens.
Shard Windowed() {
  Shard shard;
  shard.attention = {{.layers = 2}, {.layers = 3, .window = 32}};
  return shard;
}

// 100 tokens in blocks of 16: 7 blocks in each of two layers; of the last 32, two blocks in each of three.
TEST(KvPoolTest, CountsBlocksOfEveryLayer) {
  const KvPool pool(Windowed(), 16, 1600);
  EXPECT_EQ(pool.BlocksOf(100), 2 * 7 + 3 * 2);
  EXPECT_EQ(pool.BlocksOf(16), 5);
  EXPECT_EQ(pool.BlocksOf(17), 10);
  EXPECT_EQ(pool.BlocksOf(0), 0);
  EXPECT_EQ(pool.blocks(), 100 * 5);
}

TEST(KvPoolTest, KnowsWhatIsInUse) {
  KvPool pool(Windowed(), 16, 1600);
  pool.Take(125);
  EXPECT_EQ(pool.UsedShare(), 0.25);
  pool.Give(25);
  EXPECT_EQ(pool.free(), 400);
}

// Everything that the set keeps by sums, counted one by one.
class SlowSet {
 public:
  explicit SlowSet(const KvPool& pool) : pool_(pool) {}

  void Join(int id, int64_t context, int64_t steps) { members_[id] = {context, steps}; }
  void Leave(int id) { members_.erase(id); }
  const std::map<int, std::pair<int64_t, int64_t>>& members() const { return members_; }

  double MeanContext(int64_t step) const {
    double sum = 0;
    for (const auto& [id, m] : members_) sum += static_cast<double>(m.first + step);
    return sum / static_cast<double>(members_.size());
  }
  int64_t Growth(int64_t steps) const {
    int64_t blocks = 0;
    for (const auto& [id, m] : members_) blocks += pool_.BlocksOf(m.first + steps) - pool_.BlocksOf(m.first);
    return blocks;
  }
  std::vector<int> Advance(int64_t steps) {
    std::vector<int> ended;
    for (auto& [id, m] : members_) {
      m.first += steps;
      m.second -= steps;
      if (m.second == 0) ended.push_back(id);
    }
    for (const int id : ended) members_.erase(id);
    return ended;
  }

 private:
  const KvPool& pool_;
  std::map<int, std::pair<int64_t, int64_t>> members_;  // context and steps left
};

TEST(DecodeSetTest, AgreesWithCountingOneByOne) {
  const KvPool pool(Windowed(), 16, 1 << 20);
  DecodeSet set(pool, true);
  SlowSet slow(pool);
  std::mt19937 random(11);
  int next = 0;
  for (int turn = 0; turn < 20'000; ++turn) {
    if (slow.members().size() < 12 && random() % 3 == 0) {
      const int64_t context = 1 + static_cast<int64_t>(random() % 60);
      const int64_t steps = 1 + static_cast<int64_t>(random() % 70);
      const int id = next++ % 40;
      if (!slow.members().contains(id)) {
        set.Join(id, context, steps);
        slow.Join(id, context, steps);
      }
    }
    if (slow.members().size() > 1 && random() % 11 == 0) {
      const int id = slow.members().begin()->first;
      EXPECT_EQ(set.ContextOf(id), slow.members().begin()->second.first);
      set.Leave(id);
      slow.Leave(id);
    }
    ASSERT_EQ(set.size(), static_cast<int64_t>(slow.members().size()));
    if (set.size() == 0) continue;
    const int64_t most = set.StepsToEvent();
    const int64_t steps = 1 + static_cast<int64_t>(random()) % most;
    ASSERT_NEAR(set.MeanContext(steps), slow.MeanContext(steps), 1e-9);
    ASSERT_EQ(set.Growth(steps), slow.Growth(steps)) << turn;
    ASSERT_EQ(set.Advance(steps), slow.Advance(steps)) << turn;
  }
}

TEST(DecodeSetTest, KeepsNoEventsOfSequencesThatLeft) {
  const KvPool pool(Windowed(), 16, 1600);
  DecodeSet set(pool, true);
  set.Join(0, 5, 1'000'000);
  for (int i = 0; i < 100'000; ++i) {
    set.Join(1, 5, 1'000'000);
    set.Leave(1);
  }
  EXPECT_LT(set.num_events(), 2000);
  EXPECT_EQ(set.StepsToEvent(), 32 - 5);
}

TEST(DecodeSetTest, TakesNothingWhereAllIsReserved) {
  const KvPool pool(Windowed(), 16, 1600);
  DecodeSet set(pool, false);
  set.Join(0, 16, 40);
  EXPECT_EQ(set.Growth(40), 0);
  EXPECT_EQ(set.StepsToEvent(), 40);
}

}  // namespace
}  // namespace foretoken
