#include "estimator/simulation/engine.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "estimator/base/errors.h"

namespace foretoken {

Engine::Engine(const EngineSettings& settings, const StepModel& model, int cached_prefix, RequestSource& source,
               Tally& tally)
    : settings_(settings),
      cached_prefix_(cached_prefix),
      source_(source),
      tally_(tally),
      pool_(model.shard, settings.block_tokens, settings.kv_tokens),
      decodes_(pool_, !settings.reserves_whole),
      clock_(model) {}

absl::Status Engine::Run(int64_t max_steps, bool every_step_by_itself, Cancelled cancelled) {
  constexpr int64_t kBetweenLooks = 64;
  for (int64_t turn = 0; !tally_.Enough() && counts_.Work() < max_steps; ++turn) {
    if (turn % kBetweenLooks == 0 && cancelled()) return absl::CancelledError("the caller has given up");
    if (absl::Status received = Receive(); !received.ok()) return received;
    if (!PlanStep()) return absl::OkStatus();  // no request is left
    const int64_t jump = every_step_by_itself ? 1 : JumpLength(max_steps);
    jump > 1 ? RunJump(jump) : RunStep();
  }
  return absl::OkStatus();
}

// Requests that queued before this moment. An idle engine waits for the next, and takes those that come with it.
absl::Status Engine::Receive() {
  const bool idle = running_ == 0 && waiting_.empty();
  const double next = source_.NextQueued();
  if (idle && std::isfinite(next) && next > now_) {
    tally_.Spend({.seconds = next - now_});
    now_ = next;
  }
  while (source_.NextQueued() < now_ || (idle && source_.NextQueued() <= now_)) {
    const SimulatedArrival arrival = source_.Take();
    const int64_t tokens = static_cast<int64_t>(arrival.prompt) + arrival.output;
    counts_.longest_request = std::max(counts_.longest_request, tokens);
    if (pool_.BlocksOf(tokens) > pool_.blocks()) {
      return Refusal(Reason::kOutOfMemory, "simulation.scheduler.kv_tokens",
                     absl::StrCat("a request of ", arrival.prompt, " prompt and ", arrival.output,
                                  " output tokens; the KV cache of a replica holds ", settings_.kv_tokens, " tokens"));
    }
    if (free_ids_.empty()) {
      free_ids_.push_back(static_cast<int>(requests_.size()));
      requests_.emplace_back();
    }
    const int id = free_ids_.back();
    free_ids_.pop_back();
    At(id) = {.of = arrival};
    waiting_.push_back(id);
  }
  return absl::OkStatus();
}

// Whether anything runs.
bool Engine::PlanStep() {
  chunks_.clear();
  decoding_ = 0;
  preempted_ = false;
  if (!settings_.prompts_alone) TakeDecodes();
  TakePrompts();
  if (settings_.prompts_alone && chunks_.empty()) TakeDecodes();
  return decoding_ > 0 || !chunks_.empty();
}

void Engine::TakeDecodes() {
  while (decodes_.Growth(1) > pool_.free()) PreemptNewest();
  decoding_ = decodes_.size();
  pool_.Take(decodes_.Growth(1));
}

void Engine::TakePrompts() {
  int64_t budget = settings_.step_tokens - decoding_;
  if (budget > 0 && partial_ != kNone) {
    if (!TakeChunk(partial_, budget)) return PreemptNewest();
    budget -= chunks_.back().tokens;
  }
  while (!preempted_ && !waiting_.empty() && budget > 0 && running_ < settings_.max_sequences) {
    const int id = waiting_.front();
    if (!Begin(id, budget)) return;
    waiting_.pop_front();
    budget -= chunks_.back().tokens;
  }
}

// Whether the request waits for a step with more room. A prompt longer than any step is cut in any case.
bool Engine::MustWait(const Request& request, int64_t budget) const {
  const int64_t left = Target(request) - Cached(request);
  if (settings_.cuts_prompts || left <= budget) return false;
  return left <= settings_.step_tokens || !chunks_.empty();
}

bool Engine::Begin(int id, int64_t budget) {
  Request& request = At(id);
  if (MustWait(request, budget)) return false;
  request.computed = Cached(request);
  request.blocks = 0;
  if (settings_.reserves_whole) {
    const int64_t blocks = pool_.BlocksOf(static_cast<int64_t>(request.of.prompt) + request.of.output);
    if (blocks > pool_.free()) return false;
    pool_.Take(blocks);
    request.blocks = blocks;
  }
  if (!TakeChunk(id, budget)) return false;
  if (!request.begun) counts_.prompt_tokens += request.of.prompt - request.computed;
  request.begun = true;
  Link(id);
  return true;
}

bool Engine::TakeChunk(int id, int64_t budget) {
  Request& request = At(id);
  const auto tokens = static_cast<int>(std::min<int64_t>(budget, Target(request) - request.computed));
  if (!settings_.reserves_whole) {
    const int64_t blocks = pool_.BlocksOf(request.computed + tokens) - request.blocks;
    if (blocks > pool_.free()) return false;
    pool_.Take(blocks);
    request.blocks += blocks;
  }
  chunks_.push_back({id, tokens});
  return true;
}

// The newest gives up its blocks and goes to the head of the queue. REQUIRES: something runs, and no chunk is planned.
void Engine::PreemptNewest() {
  const int id = newest_;
  Request& request = At(id);
  if (id == partial_) {
    partial_ = kNone;
    counts_.dropped_tokens += request.computed - Cached(request);
    pool_.Give(request.blocks);
  } else {
    StopDecoding(id, request);
  }
  Unlink(id);
  waiting_.push_front(id);
  ++counts_.preemptions;
  preempted_ = true;
}

void Engine::StopDecoding(int id, Request& request) {
  pool_.Give(pool_.BlocksOf(decodes_.ContextOf(id)));
  request.made += static_cast<int>(decodes_.tick() - request.decode_from);
  counts_.dropped_tokens += Target(request) - Cached(request);
  request.last_token = std::max(request.last_token, last_decode_);
  if (!fresh_.empty() && fresh_.back().first == id)
    fresh_.pop_back();  // requests join in the order in which they began
  decodes_.Leave(id);
}

void Engine::RunStep() {
  PromptWork work;
  for (const Chunk& chunk : chunks_) {
    const Request& request = At(chunk.id);
    work.Add(chunk.tokens, request.computed, request.computed + chunk.tokens == Target(request));
  }
  const double context = decoding_ > 0 ? decodes_.MeanContext(1) : 0;
  const double seconds = chunks_.empty() ? clock_.Decode(decoding_, context) : clock_.Mixed(work, decoding_, context);
  now_ += seconds;
  tally_.Spend({.seconds = seconds,
                .running = static_cast<double>(running_),
                .waiting = static_cast<double>(waiting_.size()),
                .kv_share = pool_.UsedShare(),
                .most_kv_share = pool_.UsedShare(),
                .tokens = static_cast<double>(decoding_) + work.last});
  ++counts_.steps;
  ended_ = 0;
  if (decoding_ > 0) {
    CountGaps();
    Decoded(1);
  }
  for (const Chunk& chunk : chunks_) FinishChunk(chunk);
  source_.Ended(now_, ended_);
}

// The gap of every decoding request since its last token.
void Engine::CountGaps() {
  const double since = now_ - last_decode_;
  tally_.Gaps(since, since, static_cast<double>(decoding_) - static_cast<double>(fresh_.size()));
  for (const auto& [id, token] : fresh_) tally_.Gaps(now_ - token, now_ - token, 1);
}

void Engine::Decoded(int64_t steps) {
  fresh_.clear();
  last_decode_ = now_;
  for (const int id : decodes_.Advance(steps)) {
    Finish(id, settings_.reserves_whole ? At(id).blocks : pool_.BlocksOf(decodes_.ContextOf(id)));
  }
}

void Engine::FinishChunk(const Chunk& chunk) {
  Request& request = At(chunk.id);
  request.computed += chunk.tokens;
  counts_.prefilled_tokens += chunk.tokens;
  if (request.computed < Target(request)) {
    partial_ = chunk.id;
    return;
  }
  if (partial_ == chunk.id) partial_ = kNone;
  if (request.made == 0) {
    request.first_token = now_;
  } else {
    tally_.Gaps(now_ - request.last_token, now_ - request.last_token, 1);
  }
  if (++request.made == request.of.output) return Finish(chunk.id, request.blocks);
  request.last_token = now_;
  request.decode_from = decodes_.tick();
  decodes_.Join(chunk.id, request.computed, request.of.output - request.made);
  fresh_.emplace_back(chunk.id, now_);
}

void Engine::Finish(int id, int64_t blocks) {
  const Request& request = At(id);
  const SimulatedArrival& of = request.of;
  SimulatedRequest done{.arrival = of.arrival,
                        .prompt_tokens = of.prompt,
                        .output_tokens = of.output,
                        .ttft = request.first_token - of.arrival,
                        .e2e = now_ - of.arrival};
  if (of.output > 1) done.tpot = (now_ - request.first_token) / (of.output - 1);
  tally_.Complete(done);
  counts_.output_tokens += of.output;
  pool_.Give(blocks);
  Unlink(id);
  free_ids_.push_back(id);
  ++ended_;
}

// Whether all decoding requests got their last token at this moment.
bool Engine::GapsAreEqual() const {
  if (last_decode_ != now_ && static_cast<int64_t>(fresh_.size()) < decoding_) return false;
  return std::all_of(fresh_.begin(), fresh_.end(), [this](const auto& fresh) { return fresh.second == now_; });
}

// Steps that may be taken at once. What waits cannot begin earlier, because its memory or batch slot frees with the
// next end only. No step of them begins after the next request queues.
int64_t Engine::JumpLength(int64_t max_steps) {
  constexpr int64_t kShortest = 4;
  if (decoding_ == 0 || !chunks_.empty() || preempted_ || !GapsAreEqual()) return 1;
  int64_t steps = std::min({decodes_.StepsToEvent(), kLongestJump, max_steps - counts_.Work()});
  if (const int64_t growth = decodes_.GrowthOfBlock(); growth > 0 && !settings_.reserves_whole) {
    steps = std::min(steps, pool_.free() / growth * settings_.block_tokens);
  }
  if (steps < kShortest) return 1;
  const double left = source_.NextQueued() - now_;
  if (std::isfinite(left)) {
    const double longest = clock_.Decode(decoding_, decodes_.MeanContext(steps));
    steps = std::min(steps, static_cast<int64_t>(std::clamp(left / longest, 0.0, double{kLongestJump})) + 1);
  }
  return steps < kShortest ? 1 : steps;
}

void Engine::RunJump(int64_t steps) {
  const double from = decodes_.MeanContext(1);
  const double to = decodes_.MeanContext(steps);
  const double first = clock_.Decode(decoding_, from);
  const double last = clock_.Decode(decoding_, to);
  const auto count = static_cast<double>(steps);
  const double seconds = count * (first + 4 * clock_.Decode(decoding_, (from + to) / 2) + last) / 6;
  const double share = pool_.UsedShare();
  pool_.Take(decodes_.Growth(steps) - decodes_.Growth(1));
  now_ += seconds;
  tally_.Spend({.seconds = seconds,
                .running = static_cast<double>(running_),
                .waiting = static_cast<double>(waiting_.size()),
                .kv_share = (share + pool_.UsedShare()) / 2,
                .most_kv_share = pool_.UsedShare(),
                .tokens = count * static_cast<double>(decoding_)});
  tally_.Gaps(first, last, count * static_cast<double>(decoding_));
  counts_.steps += steps;
  ended_ = 0;
  Decoded(steps);
  source_.Ended(now_, ended_);
}

void Engine::Link(int id) {
  At(id).older = newest_;
  At(id).newer = kNone;
  if (newest_ != kNone) At(newest_).newer = id;
  newest_ = id;
  counts_.most_running = std::max(counts_.most_running, ++running_);
}

void Engine::Unlink(int id) {
  const Request& request = At(id);
  if (request.older != kNone) At(request.older).newer = request.newer;
  if (request.newer != kNone) At(request.newer).older = request.older;
  if (newest_ == id) newest_ = request.older;
  --running_;
}

}  // namespace foretoken
