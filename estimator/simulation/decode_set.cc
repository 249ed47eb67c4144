#include "estimator/simulation/decode_set.h"

#include <algorithm>

namespace foretoken {
namespace {

size_t Modulo(int64_t value, int64_t by) {
  const int64_t rest = value % by;
  return static_cast<size_t>(rest < 0 ? rest + by : rest);
}

}  // namespace

DecodeSet::DecodeSet(const KvPool& pool, bool grows) : pool_(pool), grows_(grows) {
  growing_.assign(pool.groups().size(), std::vector<int64_t>(static_cast<size_t>(pool.block_tokens())));
}

// Of events of one sequence at one tick, the end comes last.
bool DecodeSet::Later(const Event& a, const Event& b) {
  if (a.tick != b.tick) return a.tick > b.tick;
  return a.id != b.id ? a.id > b.id : a.group < b.group;
}

// Sequences that left early leave their events behind. A sequence has one for its end and one for each window.
void DecodeSet::Push(const Event& event) {
  constexpr size_t kFew = 1000;
  constexpr size_t kLivingAndStale = 8;
  if (events_.size() > kFew + kLivingAndStale * static_cast<size_t>(size_)) {
    std::erase_if(events_, [this](const Event& old) { return IsStale(old); });
    std::make_heap(events_.begin(), events_.end(), Later);
  }
  events_.push_back(event);
  std::push_heap(events_.begin(), events_.end(), Later);
}

void DecodeSet::Pop() {
  std::pop_heap(events_.begin(), events_.end(), Later);
  events_.pop_back();
}

// The step of tick t feeds token number origin + t of the sequence, which begins a block where the tokens before it
// fill whole blocks.
void DecodeSet::CountGrowth(const Member& member, size_t group, int64_t by) {
  growing_[group][Modulo(1 - member.origin, pool_.block_tokens())] += by;
}

bool DecodeSet::Grows(const Member& member, size_t group) const {
  const int64_t window = pool_.groups()[group].window;
  return grows_ && (window == 0 || member.origin + tick_ < window);
}

void DecodeSet::Join(int id, int64_t context, int64_t steps) {
  const auto index = static_cast<size_t>(id);
  if (index >= members_.size()) members_.resize(index + 1);
  Member& member = members_[index];
  member = {.origin = context - tick_, .stay = member.stay + 1, .inside = true};
  ++size_;
  origins_ += member.origin;
  Push({.tick = tick_ + steps, .id = id, .group = kEnd, .stay = member.stay});
  for (size_t g = 0; g < growing_.size(); ++g) {
    if (!Grows(member, g)) continue;
    CountGrowth(member, g, 1);
    const int64_t window = pool_.groups()[g].window;
    if (window == 0 || window - context > steps) continue;  // it ends before the window is full
    Push({.tick = tick_ + window - context, .id = id, .group = static_cast<int>(g), .stay = member.stay});
  }
}

void DecodeSet::Remove(Member& member) {
  --size_;
  origins_ -= member.origin;
  member.inside = false;
}

void DecodeSet::Leave(int id) {
  Member& member = members_[static_cast<size_t>(id)];
  for (size_t g = 0; g < growing_.size(); ++g) {
    if (Grows(member, g)) CountGrowth(member, g, -1);
  }
  Remove(member);
}

int64_t DecodeSet::GrowthAt(int64_t tick) const {
  const size_t slot = Modulo(tick, pool_.block_tokens());
  int64_t blocks = 0;
  for (size_t g = 0; g < growing_.size(); ++g) blocks += pool_.groups()[g].layers * growing_[g][slot];
  return blocks;
}

int64_t DecodeSet::GrowthOfBlock() const {
  int64_t blocks = 0;
  for (int64_t i = 0; i < pool_.block_tokens(); ++i) blocks += GrowthAt(i);
  return blocks;
}

int64_t DecodeSet::Growth(int64_t steps) const {
  if (!grows_) return 0;
  const int64_t whole = steps / pool_.block_tokens();
  int64_t blocks = whole > 0 ? whole * GrowthOfBlock() : 0;
  for (int64_t i = whole * pool_.block_tokens() + 1; i <= steps; ++i) blocks += GrowthAt(tick_ + i);
  return blocks;
}

bool DecodeSet::IsStale(const Event& event) const {
  const Member& member = members_[static_cast<size_t>(event.id)];
  return !member.inside || member.stay != event.stay;
}

void DecodeSet::DropStale() {
  while (!events_.empty() && IsStale(events_.front())) Pop();
}

int64_t DecodeSet::StepsToEvent() {
  DropStale();
  return events_.front().tick - tick_;
}

const std::vector<int>& DecodeSet::Advance(int64_t steps) {
  tick_ += steps;
  ended_.clear();
  for (DropStale(); !events_.empty() && events_.front().tick == tick_; DropStale()) {
    const Event event = events_.front();
    Pop();
    Member& member = members_[static_cast<size_t>(event.id)];
    if (event.group == kEnd) {
      for (size_t g = 0; g < growing_.size(); ++g) {
        if (Grows(member, g)) CountGrowth(member, g, -1);
      }
      Remove(member);
      ended_.push_back(event.id);
    } else {
      CountGrowth(member, static_cast<size_t>(event.group), -1);
    }
  }
  return ended_;
}

}  // namespace foretoken
