#include "estimator/phases/phases.h"

#include <algorithm>
#include <cmath>

#include "estimator/phases/quadrature.h"

namespace foretoken {
namespace {

// The prompt arrives at r tokens/s, and chunk j can start when its last token has arrived; chunk times t_j grow with
// the context before them. The time after the last arrival S/r is the largest of (arrival of j) + t_j + t_j+1 + ... -
// S/r, because the prefill waits for the slower of arrival and computation. Computed backwards from the last chunk.
TimeParts ExposedChunkByChunk(const StepModel& model, const PrefillShape& shape, double tokens_per_second) {
  const double chunks = PrefillChunks(shape);
  const double size = chunks > 1 ? *shape.chunk_tokens : shape.new_tokens;
  TimeParts rest;
  TimeParts exposed;
  const auto add = [&](double j, const TimeParts& chunk) {
    rest += chunk;
    const Seconds before_end(std::max(0.0, shape.new_tokens - (j + 1) * size) / tokens_per_second);
    const Seconds left = rest.Total() - before_end;
    if (left > exposed.Total()) exposed = rest * (left / rest.Total());
  };
  add(chunks - 1, PrefillChunk(model, shape, chunks - 1));
  if (chunks == 1) return exposed;
  const WholeChunks chunk(model, shape);
  for (double j = chunks - 2; j >= 0; --j) add(j, chunk(j));
  return exposed;
}

// The same for many chunks of one size. Their times rise with the context before them, so that from the first chunk
// that computes longer than it arrives, all do: the time of those chunks is exposed.
TimeParts ExposedOfMany(const StepModel& model, const PrefillShape& shape, double tokens_per_second) {
  const double last = PrefillChunks(shape) - 1;
  const double arrives = *shape.chunk_tokens / tokens_per_second;
  double low = 0;  // the first that takes longer is from here to `high`; the last chunk may be shorter
  double high = last - 1;
  const WholeChunks chunk(model, shape);
  while (low < high) {
    const double middle = std::floor((low + high) / 2);
    const bool longer = chunk(middle).Total().value() > arrives;
    longer ? high = middle : low = middle + 1;
  }
  const TimeParts shortened = PrefillChunk(model, shape, last);
  const TimeParts rest = chunk.Sum(low, last - 1) + shortened;
  const double after_first = shape.new_tokens - (low + 1) * *shape.chunk_tokens;
  const Seconds left = rest.Total() - Seconds(std::max(0.0, after_first) / tokens_per_second);
  return rest * (std::max(left, shortened.Total()) / rest.Total());
}

TimeParts ExposedPrefill(const StepModel& model, const PrefillShape& shape, double tokens_per_second) {
  constexpr double kFew = kSawtooth.slow;
  return PrefillChunks(shape) <= kFew ? ExposedChunkByChunk(model, shape, tokens_per_second)
                                      : ExposedOfMany(model, shape, tokens_per_second);
}

double Microbatch(const StepModel& model, double sequences) { return std::ceil(sequences / model.shard.stages); }

}  // namespace

PrefillShape PromptShape(const Workload& workload, const Deployment& deployment, double sequences) {
  PrefillShape shape{.sequences = sequences,
                     .new_tokens = static_cast<double>(workload.fresh_tokens()),
                     .prior = static_cast<double>(workload.cached_prefix_tokens)};
  shape.chunk_tokens = ChunkTokens(workload, deployment);
  shape.flow = PassFlowOf(deployment);
  return shape;
}

Seconds PrefixLoad(const StepModel& model, const Workload& workload, double sequences) {
  if (!workload.prefix_load) return Seconds(0);
  const Shard& shard = model.shard;
  const double tokens = sequences * workload.cached_prefix_tokens;
  const Bytes states = sequences / shard.stages / shard.fullest_stage * shard.state_per_sequence;
  return (tokens * shard.kv_layers / shard.stages * shard.kv_elements * shard.kv + states) / *workload.prefix_load;
}

Seconds TakeInToken(const Efficiencies& efficiencies, const Workload& workload) {
  if (workload.tokenizer_tokens_per_second) return Seconds(1 / *workload.tokenizer_tokens_per_second);
  return workload.batching == BatchingPolicy::kContinuous ? efficiencies.admission_per_token : Seconds(0);
}

TimeParts PrefillPhase(const StepModel& model, const Workload& workload, const Deployment& deployment,
                       double sequences) {
  if (workload.prompt_tokens == 0) return DecodePhase(model, workload, sequences).Step(1);
  const PrefillShape shape = PromptShape(workload, deployment, sequences);
  TimeParts parts = workload.prefills_on_arrival()
                        ? ExposedPrefill(model, shape, *workload.prompt_arrival_tokens_per_second)
                        : PrefillTime(model, shape);
  parts.communication += PrefixLoad(model, workload, sequences);
  parts.host += workload.prompt_tokens * TakeInToken(model.efficiencies, workload);
  return parts;
}

DecodePhase::DecodePhase(const StepModel& model, const Workload& workload, double sequences,
                         const Speculator* speculator)
    : model_(&model),
      prompt_(workload.prompt_tokens == 0 ? 1 : workload.prompt_tokens),
      sequences_(Microbatch(model, sequences)),
      recomputes_(!workload.keeps_kv_cache()),
      curve_(model, speculator, sequences_) {}

TimeParts DecodePhase::RecomputeStep(double j) const {
  return StepTime(*model_, {.prefill_sequences = sequences_, .prefill_tokens = prompt_ + j, .logits_rows = sequences_});
}

TimeParts DecodePhase::Step(double j) const { return recomputes_ ? RecomputeStep(j) : curve_.Step(prompt_ + j); }

TimeParts DecodePhase::Sum(double steps) const {
  if (!recomputes_) return curve_.Sum(prompt_ + 1, prompt_ + steps);
  return PanelSum([this](double j) { return RecomputeStep(j); }, 1, steps);
}

void DecodePhase::Sums(const double* steps, int count, TimePartsColumns& sums) const {
  TimePartsColumns::Column last;
  for (int i = 0; i < count; ++i) last[i] = prompt_ + steps[i];
  curve_.plain().Sums(prompt_ + 1, last.data(), count, sums);
}

}  // namespace foretoken
