// The engine of one replica, step by step: which requests run in a step, how long it takes, and who gets a token.
//
// One loop serves every policy (settings.h):
//   1. Decodes run, each with one token. Where their KV cache has no room, the newest request is preempted: it gives up
//      its blocks, goes to the head of the queue, and later computes all its tokens again.
//   2. The prompt that was cut goes on. Then waiting requests begin in order, while the token budget, the batch slots
//      and the KV cache allow. None begins in a step that preempted.
//   3. The step's time passes. Requests whose prompt is whole get their first token, decodes their next.
// Where prompts run alone, 2 comes first, and 1 only in steps without prompts. A request that queues while a step runs
// joins the next step at the earliest. An idle engine begins at once.
//
// Steps that only decode change nothing but contexts until a sequence ends or a request queues. So up to kLongestJump
// of them are taken at once, by Simpson's rule over the first, middle and last.
#ifndef FORETOKEN_ESTIMATOR_SIMULATION_ENGINE_H_
#define FORETOKEN_ESTIMATOR_SIMULATION_ENGINE_H_

#include <algorithm>
#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "estimator/base/cancelled.h"
#include "estimator/simulation/decode_set.h"
#include "estimator/simulation/kv_pool.h"
#include "estimator/simulation/requests.h"
#include "estimator/simulation/settings.h"
#include "estimator/simulation/step_clock.h"
#include "estimator/simulation/tally.h"

namespace foretoken {

inline constexpr int64_t kLongestJump = 512;

// Counts of the whole run, the warm-up included.
struct EngineCounts {
  int64_t steps = 0;
  int64_t preemptions = 0;
  int64_t prompt_tokens = 0;     // of requests that began, without their cached prefix
  int64_t prefilled_tokens = 0;  // computed in prompts, again after a preemption
  int64_t dropped_tokens = 0;    // of them, given up by preemptions
  int64_t output_tokens = 0;     // of requests that ended
  int64_t longest_request = 0;   // prompt and output tokens
  int most_running = 0;

  // What max_steps bounds: a preemption takes about as long as a step.
  int64_t Work() const { return steps + preemptions; }
};

class Engine {
 public:
  // All outlive the engine.
  Engine(const EngineSettings& settings, const StepModel& model, int cached_prefix, RequestSource& source,
         Tally& tally);

  // Runs until the tally has enough, no request is left, or steps and preemptions are `max_steps` together.
  // Errors: CANCELLED; kOutOfMemory where one request alone does not fit in the KV cache.
  absl::Status Run(int64_t max_steps, bool every_step_by_itself, Cancelled cancelled);

  const EngineCounts& counts() const { return counts_; }
  double now() const { return now_; }
  size_t waiting() const { return waiting_.size(); }

 private:
  static constexpr int kNone = -1;

  struct Request {
    SimulatedArrival of;
    double first_token = 0;
    double last_token = 0;    // of a preempted request
    int computed = 0;         // tokens in its KV cache, until it decodes
    int made = 0;             // output tokens, until it decodes
    int64_t blocks = 0;       // that it holds; of a decoding request where whole requests are reserved
    int64_t decode_from = 0;  // tick at which it began to decode
    bool begun = false;
    int older = kNone, newer = kNone;  // of the running
  };
  struct Chunk {
    int id = 0;
    int tokens = 0;
  };

  Request& At(int id) { return requests_[static_cast<size_t>(id)]; }
  // Tokens that its prefill computes: the prompt, and after a preemption what was made.
  static int Target(const Request& request) { return request.of.prompt + request.made; }
  int Cached(const Request& request) const { return std::min(cached_prefix_, request.of.prompt - 1); }

  absl::Status Receive();
  bool PlanStep();
  void TakeDecodes();
  void TakePrompts();
  bool TakeChunk(int id, int64_t budget);
  bool Begin(int id, int64_t budget);
  bool MustWait(const Request& request, int64_t budget) const;
  void PreemptNewest();
  void StopDecoding(int id, Request& request);

  void RunStep();
  void RunJump(int64_t steps);
  int64_t JumpLength(int64_t max_steps);
  bool GapsAreEqual() const;
  void CountGaps();
  void FinishChunk(const Chunk& chunk);
  void Decoded(int64_t steps);
  void Finish(int id, int64_t blocks);
  void Link(int id);
  void Unlink(int id);

  const EngineSettings& settings_;
  int cached_prefix_;
  RequestSource& source_;
  Tally& tally_;
  KvPool pool_;
  DecodeSet decodes_;
  StepClock clock_;

  double now_ = 0;
  double last_decode_ = 0;                     // end of the last step with decodes
  std::vector<std::pair<int, double>> fresh_;  // requests that have not decoded yet since they joined, and their token
  std::vector<Request> requests_;
  std::vector<int> free_ids_;
  std::deque<int> waiting_;
  int newest_ = kNone;
  int running_ = 0;
  int partial_ = kNone;  // whose prompt is cut; always the newest

  // The step that is planned.
  std::vector<Chunk> chunks_;
  int64_t decoding_ = 0;
  bool preempted_ = false;
  int64_t ended_ = 0;

  EngineCounts counts_;
};

}  // namespace foretoken

#endif  // FORETOKEN_ESTIMATOR_SIMULATION_ENGINE_H_
