// The scheduler of the fake engine, without a clock: which tokens run in the next step, and how long the product's own
// step model says that the step takes. It does what vLLM V1 does:
//   1. Running requests come first, the oldest first: each decode takes one token, and a prompt that was cut goes on.
//      Where the KV cache has no room, the newest is preempted and later computes all its tokens again.
//   2. Then waiting requests begin in order, while max_num_batched_tokens, max_num_seqs and the KV cache allow. Prompts
//      are cut to the tokens that are left. None begins in a step that preempted.
// Left out: windows of attention free no blocks, and blocks that two requests share count for each.
#ifndef FORETOKEN_TESTS_PROFILE_FAKE_SCHEDULER_H_
#define FORETOKEN_TESTS_PROFILE_FAKE_SCHEDULER_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <unordered_set>
#include <vector>

#include "estimator/simulation/step_clock.h"
#include "estimator/step/step.h"

namespace foretoken::fake {

struct SchedulerSettings {
  int64_t max_num_batched_tokens = 8192;
  int64_t max_num_seqs = 256;
  int64_t block_tokens = 16;
  int64_t num_gpu_blocks = 65536;
  bool prefix_caching = false;
};

struct SchedulerCounts {
  int64_t running = 0;
  int64_t waiting = 0;
  int64_t used_blocks = 0;
  int64_t preemptions = 0;
  int64_t prompt_tokens = 0;  // of prompts that were computed, cached ones included
  int64_t output_tokens = 0;
  int64_t prefix_cache_queries = 0;  // tokens asked for
  int64_t prefix_cache_hits = 0;     // tokens found
};

// What a step holds.
struct PlannedStep {
  double seconds = 0;  // by the step model
  int64_t decodes = 0;
  int64_t prompt_tokens = 0;
};

// A token that a step made.
struct MadeToken {
  int64_t request = 0;
  int64_t cached = 0;  // prompt tokens of the request that the prefix cache held when it began
  bool last = false;
};

class FakeScheduler {
 public:
  // The model outlives the scheduler.
  FakeScheduler(const SchedulerSettings& settings, const StepModel& model) : settings_(settings), clock_(model) {}

  // Queues a request. `blocks` are hashes of the whole blocks of its prompt, each of all tokens up to its end.
  // REQUIRES: a new number, at least one token each, and CanHold(prompt + output).
  void Add(int64_t request, int64_t prompt, int64_t output, std::vector<uint64_t> blocks);
  // Forgets a request that was given up, between steps. Unknown ones are ignored.
  void Remove(int64_t request);

  bool CanHold(int64_t tokens) const { return BlocksOf(tokens) <= settings_.num_gpu_blocks; }

  // Plans the next step. seconds 0: nothing is to do.
  PlannedStep Plan();
  // Ends the step that was planned. The reference holds until the next call.
  const std::vector<MadeToken>& Finish();

  SchedulerCounts counts() const;

 private:
  struct Request {
    int64_t prompt = 0;
    int64_t output = 0;
    std::vector<uint64_t> blocks;
    int64_t computed = 0;  // tokens in the KV cache
    int64_t made = 0;      // output tokens
    int64_t held = 0;      // blocks
    int64_t cached = 0;
    bool decodes = false;

    int64_t Target() const { return prompt + made; }
  };
  struct Chunk {
    int64_t request = 0;
    int64_t tokens = 0;
  };

  int64_t BlocksOf(int64_t tokens) const { return (tokens + settings_.block_tokens - 1) / settings_.block_tokens; }
  bool Reserve(Request& request, int64_t tokens);
  void Release(Request& request);
  bool TakeRunning(size_t index, int64_t& budget);
  bool Begin(int64_t id, int64_t& budget);
  int64_t CachedPrefix(const Request& request) const;
  void PreemptNewest();
  PlannedStep Timed();
  bool MakeToken(Request& request);

  SchedulerSettings settings_;
  StepClock clock_;
  std::map<int64_t, Request> requests_;
  std::vector<int64_t> running_;  // the oldest first
  std::deque<int64_t> waiting_;
  std::vector<Chunk> chunks_;  // of the planned step
  std::vector<MadeToken> tokens_;
  std::unordered_set<uint64_t> seen_;  // blocks that were computed
  SchedulerCounts counts_;
};

}  // namespace foretoken::fake

#endif  // FORETOKEN_TESTS_PROFILE_FAKE_SCHEDULER_H_
