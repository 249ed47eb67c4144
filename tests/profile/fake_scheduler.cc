#include "tests/profile/fake_scheduler.h"

#include <algorithm>
#include <utility>

namespace foretoken::fake {

void FakeScheduler::Add(int64_t request, int64_t prompt, int64_t output, std::vector<uint64_t> blocks) {
  requests_[request] = {.prompt = prompt, .output = output, .blocks = std::move(blocks)};
  waiting_.push_back(request);
}

void FakeScheduler::Remove(int64_t request) {
  const auto found = requests_.find(request);
  if (found == requests_.end()) return;
  Release(found->second);
  std::erase(running_, request);
  std::erase(waiting_, request);
  requests_.erase(found);
}

PlannedStep FakeScheduler::Plan() {
  chunks_.clear();
  int64_t budget = settings_.max_num_batched_tokens;
  const int64_t preemptions = counts_.preemptions;
  for (size_t i = 0; i < running_.size() && budget > 0; ++i) {
    if (!TakeRunning(i, budget)) break;
  }
  while (counts_.preemptions == preemptions && !waiting_.empty() && budget > 0 &&
         static_cast<int64_t>(running_.size()) < settings_.max_num_seqs) {
    if (!Begin(waiting_.front(), budget)) break;
    waiting_.pop_front();
  }
  return chunks_.empty() ? PlannedStep{} : Timed();
}

// Whether the request is still running.
bool FakeScheduler::TakeRunning(size_t index, int64_t& budget) {
  const int64_t id = running_[index];
  Request& request = requests_.at(id);
  const int64_t tokens = std::min(budget, request.Target() - request.computed);
  while (!Reserve(request, request.computed + tokens)) {
    PreemptNewest();
    if (running_.size() <= index) return false;
  }
  chunks_.push_back({id, tokens});
  budget -= tokens;
  return true;
}

bool FakeScheduler::Begin(int64_t id, int64_t& budget) {
  Request& request = requests_.at(id);
  const int64_t cached = CachedPrefix(request);
  const int64_t tokens = std::min(budget, request.Target() - cached);
  if (!Reserve(request, cached + tokens)) return false;
  if (request.made == 0) request.cached = cached;
  if (settings_.prefix_caching) {
    counts_.prefix_cache_queries += request.Target();
    counts_.prefix_cache_hits += cached;
  }
  request.computed = cached;
  running_.push_back(id);
  chunks_.push_back({id, tokens});
  budget -= tokens;
  return true;
}

// At least one token of a prompt is computed, because its logits are needed.
int64_t FakeScheduler::CachedPrefix(const Request& request) const {
  if (!settings_.prefix_caching) return 0;
  const auto most = std::min<size_t>(request.blocks.size(), (request.prompt - 1) / settings_.block_tokens);
  size_t hits = 0;
  while (hits < most && seen_.contains(request.blocks[hits])) ++hits;
  return static_cast<int64_t>(hits) * settings_.block_tokens;
}

bool FakeScheduler::Reserve(Request& request, int64_t tokens) {
  const int64_t more = BlocksOf(tokens) - request.held;
  if (counts_.used_blocks + more > settings_.num_gpu_blocks) return false;
  request.held += more;
  counts_.used_blocks += more;
  return true;
}

void FakeScheduler::Release(Request& request) {
  counts_.used_blocks -= request.held;
  request.held = 0;
}

void FakeScheduler::PreemptNewest() {
  const int64_t id = running_.back();
  Request& request = requests_.at(id);
  Release(request);
  request.computed = 0;
  request.decodes = false;
  running_.pop_back();
  waiting_.push_front(id);
  ++counts_.preemptions;
}

PlannedStep FakeScheduler::Timed() {
  PlannedStep step;
  PromptWork prompts;
  double seen = 0;
  for (const auto& [id, tokens] : chunks_) {
    const Request& request = requests_.at(id);
    if (request.decodes) {
      ++step.decodes;
      seen += static_cast<double>(request.computed + 1);
      continue;
    }
    step.prompt_tokens += tokens;
    prompts.Add(static_cast<double>(tokens), static_cast<double>(request.computed),
                request.computed + tokens == request.Target());
  }
  const double context = step.decodes > 0 ? seen / static_cast<double>(step.decodes) : 0;
  step.seconds =
      step.prompt_tokens > 0 ? clock_.Mixed(prompts, step.decodes, context) : clock_.Decode(step.decodes, context);
  return step;
}

const std::vector<MadeToken>& FakeScheduler::Finish() {
  tokens_.clear();
  for (const auto& [id, tokens] : chunks_) {
    Request& request = requests_.at(id);
    request.computed += tokens;
    if (request.computed == request.Target()) tokens_.push_back({id, request.cached, MakeToken(request)});
  }
  for (const MadeToken& token : tokens_) {
    if (token.last) Remove(token.request);
  }
  chunks_.clear();
  return tokens_;
}

// Whether it was the last of the request.
bool FakeScheduler::MakeToken(Request& request) {
  if (request.made == 0) {
    counts_.prompt_tokens += request.prompt;
    if (settings_.prefix_caching) seen_.insert(request.blocks.begin(), request.blocks.end());
  }
  ++counts_.output_tokens;
  request.decodes = true;
  return ++request.made == request.output;
}

SchedulerCounts FakeScheduler::counts() const {
  SchedulerCounts counts = counts_;
  counts.running = static_cast<int64_t>(running_.size());
  counts.waiting = static_cast<int64_t>(waiting_.size());
  return counts;
}

}  // namespace foretoken::fake
