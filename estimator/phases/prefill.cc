#include "estimator/phases/prefill.h"

#include <algorithm>
#include <cmath>

#include "estimator/phases/quadrature.h"

namespace foretoken {
namespace {

// All chunks of the batch, each through all stages before the next.
TimeParts AllChunks(const StepModel& model, const PrefillShape& shape) {
  return SumOverChunks(model, shape, [&](double index) { return PrefillChunk(model, shape, index); });
}

bool SeesItsOwnChunk(const StepModel& model) {
  return std::any_of(model.shard.attention.begin(), model.shard.attention.end(),
                     [](const AttentionGroup& group) { return group.chunked; });
}

// The last whole chunk has the longest context and takes longest, unless the prompt is one chunk. Where layers attend
// within their own attention chunk only, the longest is one of the chunks before.
Seconds LongestChunk(const StepModel& model, const PrefillShape& shape) {
  constexpr int kLookedAt = 32;
  const double last = PrefillChunks(shape) - 1;
  const int before = static_cast<int>(std::min<double>(last, SeesItsOwnChunk(model) ? kLookedAt : 1));
  Seconds longest;
  for (int i = 0; i <= before; ++i) {
    longest = std::max(longest, PrefillChunk(model, shape, last - i).Total());
  }
  return longest;
}

// Passes follow each other through pp stages, and every stage takes 1/pp of the time of a pass. The last stage works
// 1/pp of all passes; it waits (pp - 1)/pp of the longest pass, while the pipeline fills and a longer pass delays it.
TimeParts Pipelined(const TimeParts& all, Seconds longest, double stages) {
  TimeParts total = all * (1 / stages);
  total.queueing += longest * ((stages - 1) / stages);
  return total;
}

// The batch cut into microbatches of `size` sequences, whose chunks are pipelined.
TimeParts Microbatched(const StepModel& model, const PrefillShape& shape, double size) {
  PrefillShape part = shape;
  part.sequences = size;
  const double parts = std::ceil(shape.sequences / size);
  return Pipelined(AllChunks(model, part) * parts, LongestChunk(model, part), model.shard.stages);
}

// The best of all power-of-two microbatches. Because the sizes do not depend on the batch, a larger batch is never
// faster than a smaller one.
TimeParts BestMicrobatches(const StepModel& model, const PrefillShape& shape) {
  TimeParts best = Microbatched(model, shape, shape.sequences);
  for (double size = 1; size < shape.sequences; size *= 2) {
    const TimeParts candidate = Microbatched(model, shape, size);
    if (candidate.Total() < best.Total()) best = candidate;
  }
  return best;
}

}  // namespace

double PrefillChunks(const PrefillShape& shape) {
  if (!shape.chunk_tokens || *shape.chunk_tokens >= shape.new_tokens) return 1;
  return std::ceil(shape.new_tokens / *shape.chunk_tokens);
}

StepShape ChunkStep(const PrefillShape& shape, double index) {
  const double chunks = PrefillChunks(shape);
  const double size = chunks > 1 ? *shape.chunk_tokens : shape.new_tokens;
  const bool last = index >= chunks - 1;
  return {.prefill_sequences = shape.sequences,
          .prefill_tokens = last ? shape.new_tokens - (chunks - 1) * size : size,
          .prefill_prior = shape.prior + index * size,
          .logits_rows = last ? shape.sequences : 0};
}

TimeParts PrefillChunk(const StepModel& model, const PrefillShape& shape, double index) {
  return StepTime(model, ChunkStep(shape, index));
}

TimeParts SumOverChunks(const StepModel& model, const PrefillShape& shape, absl::FunctionRef<TimeParts(double)> step) {
  const double last = PrefillChunks(shape) - 1;
  if (last == 0) return step(0);
  return PanelSum(step, 0, last - 1, SeesItsOwnChunk(model) ? kSawtooth : kSmooth) + step(last);
}

TimeParts PrefillTime(const StepModel& model, const PrefillShape& shape) {
  if (shape.new_tokens <= 0) return {};
  TimeParts best = AllChunks(model, shape);
  if (model.shard.stages > 1) {
    // With a single pass both schedules are the same: rounding must not turn its work into a bubble.
    constexpr double kRounding = 1e-12;
    const TimeParts split = BestMicrobatches(model, shape);
    if (split.Total() < (1 - kRounding) * best.Total()) best = split;
  }
  best.host += model.efficiencies.admission + shape.sequences * model.efficiencies.admission_per_request;
  return best;
}

}  // namespace foretoken
