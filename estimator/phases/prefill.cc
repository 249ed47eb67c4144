#include "estimator/phases/prefill.h"

#include <algorithm>
#include <cmath>

#include "estimator/phases/quadrature.h"

namespace foretoken {
namespace {

// The attention chunk outside of which some layers do not see; 0: there are no such layers.
double AttentionChunk(const StepModel& model) {
  for (const AttentionGroup& group : model.shard.attention) {
    if (group.chunked) return group.window;
  }
  return 0;
}

// The last whole chunk has the longest context and takes longest, unless the prompt is one chunk. Where layers attend
// within their own attention chunk only, the longest is one of the chunks before.
Seconds LongestChunk(const StepModel& model, const PrefillShape& shape) {
  constexpr int kLookedAt = 32;
  const double last = PrefillChunks(shape) - 1;
  Seconds longest = PrefillChunk(model, shape, last).Total();
  if (last < 1) return longest;
  if (AttentionChunk(model) <= 0) return std::max(longest, PrefillChunk(model, shape, last - 1).Total());
  const WholeChunks chunk(model, shape);
  const int before = static_cast<int>(std::min<double>(last, kLookedAt));
  for (int i = 1; i <= before; ++i) longest = std::max(longest, chunk(last - i).Total());
  return longest;
}

// Passes follow each other through pp stages, and every stage takes 1/pp of the time of a pass. The last stage works
// 1/pp of all passes; it waits (pp - 1)/pp of the longest pass, while the pipeline fills and a longer pass delays it.
// Where passes follow each other after an `interval` above 1/pp of a pass, it also waits for each of them.
TimeParts Pipelined(const TimeParts& all, Seconds longest, double stages, double interval) {
  TimeParts total = all * (1 / stages);
  const double slower = interval - 1 / stages;
  if (slower <= 0) {
    total.queueing += longest * ((stages - 1) / stages);
  } else {
    total.queueing += all.Total() * slower + longest * (1 - interval);
  }
  return total;
}

// The batch cut into microbatches of `size` sequences, whose chunks are pipelined.
struct Microbatches {
  double size = 0;
  Seconds longest;  // chunk
  Seconds working;  // of the last stage
  TimeParts total;
};

Microbatches Microbatched(const StepModel& model, const PrefillShape& shape, double size) {
  PrefillShape part = shape;
  part.sequences = size;
  const TimeParts all = SumOverChunks(model, part) * std::ceil(shape.sequences / size);
  const Seconds longest = LongestChunk(model, part);
  const PassFlow flow = model.efficiencies.speed_of_light ? PassFlow() : shape.flow;
  const double interval = PassInterval(model.shard, flow, ChunkStep(part, 0).Tokens());
  return {.size = size,
          .longest = longest,
          .working = all.Total() / model.shard.stages,
          .total = Pipelined(all, longest, model.shard.stages, interval)};
}

// The best of all power-of-two microbatches and the whole batch, a tie going to the batch and then to the smaller.
// Because the sizes do not depend on the batch, a larger batch is never faster than a smaller one. Larger microbatches
// have a longer longest chunk, and smaller ones more work for the last stage: from the usual best size on, both ways
// end where that alone takes longer than the best.
TimeParts BestMicrobatches(const StepModel& model, const PrefillShape& shape) {
  constexpr double kRounding = 1 + 1e-6;
  const double stages = model.shard.stages;
  Microbatches best = Microbatched(model, shape, shape.sequences);
  const auto consider = [&](const Microbatches& m) {
    const bool first = m.size < best.size && best.size < shape.sequences;
    if (m.total.Total() < best.total.Total() || (first && m.total.Total() == best.total.Total())) best = m;
  };
  const double usual = std::exp2(std::floor(std::log2(std::max(1.0, shape.sequences / stages))));
  Seconds least;
  for (double size = usual; size < shape.sequences && least <= best.total.Total() * kRounding; size *= 2) {
    const Microbatches larger = Microbatched(model, shape, size);
    consider(larger);
    least = larger.longest * ((stages - 1) / stages);
  }
  least = Seconds(0);
  for (double size = usual / 2; size >= 1 && least <= best.total.Total() * kRounding; size /= 2) {
    const Microbatches smaller = Microbatched(model, shape, size);
    consider(smaller);
    least = smaller.working * (shape.sequences / size / std::ceil(shape.sequences / size));
  }
  return best.total;
}

}  // namespace

double PrefillChunks(const PrefillShape& shape) {
  if (!shape.chunk_tokens || *shape.chunk_tokens >= shape.new_tokens) return 1;
  return std::ceil(shape.new_tokens / *shape.chunk_tokens);
}

StepShape ChunkStep(const PrefillShape& shape, double index, const CoScheduledDecodes& decodes) {
  const double chunks = PrefillChunks(shape);
  const double size = chunks > 1 ? *shape.chunk_tokens : shape.new_tokens;
  const bool last = index >= chunks - 1;
  return {.decode_sequences = decodes.sequences,
          .decode_context = decodes.context,
          .decode_tokens = decodes.tokens,
          .prefill_sequences = shape.sequences,
          .prefill_tokens = last ? shape.new_tokens - (chunks - 1) * size : size,
          .prefill_prior = shape.prior + index * size,
          .logits_rows = (last ? shape.sequences : 0) + decodes.sequences * decodes.tokens};
}

TimeParts PrefillChunk(const StepModel& model, const PrefillShape& shape, double index) {
  return StepTime(model, ChunkStep(shape, index));
}

WholeChunks::WholeChunks(const StepModel& model, const PrefillShape& shape, const CoScheduledDecodes& decodes)
    : curve_(model, ChunkStep(shape, 0, decodes)),
      prior_(shape.prior),
      size_(*shape.chunk_tokens),
      window_(AttentionChunk(model)) {}

TimeParts WholeChunks::Sum(double first, double last) const {
  if (last < first) return {};
  if (window_ <= 0) return PanelSum(*this, first, last);
  constexpr double kFew = 96;
  const bool whole = std::fmod(window_, size_) == 0;
  if (last - first + 1 <= kFew || !whole) return PanelSum(*this, first, last, kSawtooth);
  return SumOfRises(first, last, window_ / size_);
}

// The last chunk of a rise may reach into the next attention chunk. From rise to rise the time changes almost along a
// line: of many, the first, the last and one between are taken, and the parabola through them is summed.
TimeParts WholeChunks::SumOfRises(double first, double last, double each) const {
  const auto rise = [&](double from) {
    return PanelSum(*this, from, from + each - 2, kAlmostLine) + (*this)(from + each - 1);
  };
  const double into = std::fmod(prior_ + first * size_, window_);
  const double begin = first + (into > 0 ? std::ceil((window_ - into) / size_) : 0);  // of the first whole rise
  if (begin > last) return PanelSum(*this, first, last, kAlmostLine);
  const double rises = std::floor((last + 1 - begin) / each);
  TimeParts sum = PanelSum(*this, begin + rises * each, last, kAlmostLine);
  if (begin > first) sum += PanelSum(*this, first, begin - 2, kAlmostLine) + (*this)(begin - 1);
  constexpr double kFewRises = 4;
  if (rises <= kFewRises) {
    for (double i = 0; i < rises; ++i) sum += rise(begin + i * each);
    return sum;
  }
  const double end = rises - 1;
  const double between = std::floor(end / 2);
  const double positions = end * rises / 2;                  // 0 + 1 + ... + end
  const double squares = end * rises * (2 * rises - 1) / 6;  // 0 + 1 + 4 + ... + end^2
  const double at_between = (end * positions - squares) / (between * (end - between));
  const double at_end = (squares - between * positions) / (end * (end - between));
  return sum + rise(begin) * (rises - at_between - at_end) + rise(begin + between * each) * at_between +
         rise(begin + end * each) * at_end;
}

TimeParts SumOverChunks(const StepModel& model, const PrefillShape& shape, const CoScheduledDecodes& decodes) {
  constexpr double kFew = 3;  // chunks that cost less one by one
  const double last = PrefillChunks(shape) - 1;
  const auto step = [&](double index) { return StepTime(model, ChunkStep(shape, index, decodes)); };
  if (last == 0) return step(0);
  if (last < kFew) return PanelSum(step, 0, last - 1) + step(last);
  return WholeChunks(model, shape, decodes).Sum(0, last - 1) + step(last);
}

TimeParts PrefillTime(const StepModel& model, const PrefillShape& shape) {
  if (shape.new_tokens <= 0) return {};
  TimeParts best = SumOverChunks(model, shape);
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
