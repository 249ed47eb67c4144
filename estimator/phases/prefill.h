// The prefill of a batch on one replica: whole or in chunks, on one stage or a pipeline of them.
#ifndef FORETOKEN_ESTIMATOR_PHASES_PREFILL_H_
#define FORETOKEN_ESTIMATOR_PHASES_PREFILL_H_

#include <optional>

#include "absl/functional/function_ref.h"
#include "estimator/step/step.h"

namespace foretoken {

struct PrefillShape {
  double sequences = 1;
  double new_tokens = 0;  // of each sequence
  double prior = 0;       // tokens of each that are cached already
  // Tokens of each sequence per step; absent: whole.
  std::optional<double> chunk_tokens;
};

// The step of chunk number `index` (from 0), all sequences in lockstep; the last one makes the first tokens.
StepShape ChunkStep(const PrefillShape& shape, double index);

// The time of that step.
TimeParts PrefillChunk(const StepModel& model, const PrefillShape& shape, double index);

// Number of chunks: ceil(n / C); 1 when whole.
double PrefillChunks(const PrefillShape& shape);

// Sum of `step` over the chunks 0, 1, ... of the shape; all except the last have one size. Sampled past 32 chunks; past
// 1,000 where layers attend within their own attention chunk only, because their prior context then rises and falls.
TimeParts SumOverChunks(const StepModel& model, const PrefillShape& shape,
                        absl::FunctionRef<TimeParts(double index)> step);

// All chunks through all stages. With pp pipeline stages, the faster of two schedules: one pass after the other, or
// pipelined passes (microbatches and chunks). Pipelined, it takes 1/pp of all passes and (pp - 1)/pp of the longest:
// (m + pp - 1)/pp passes where all m are equal. The pipeline bubble counts as queueing. Source: proportionate flow shop
// (Pinedo, "Scheduling"). Scheduling overhead (a0 + a1 B) is added as host time.
TimeParts PrefillTime(const StepModel& model, const PrefillShape& shape);

}  // namespace foretoken

#endif  // FORETOKEN_ESTIMATOR_PHASES_PREFILL_H_
