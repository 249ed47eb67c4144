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

// Its time.
TimeParts PrefillChunk(const StepModel& model, const PrefillShape& shape, double index);

// Number of chunks: ceil(n / C); 1 when whole.
double PrefillChunks(const PrefillShape& shape);

// Sum of `step` over the chunks 0, 1, ... of the shape, of which all but the last are of one size. Past 32 chunks it is
// sampled; where layers see their own attention chunk only, the prior context that they read rises and falls, and it is
// sampled past 1,000.
TimeParts SumOverChunks(const StepModel& model, const PrefillShape& shape,
                        absl::FunctionRef<TimeParts(double index)> step);

// All chunks through all stages. With a pipeline of pp stages the better of one pass after the other and passes
// (microbatches and chunks) that follow each other: 1/pp of all and (pp - 1)/pp of the longest, (m + pp - 1)/pp times a
// pass where all m are equal; that bubble counts as queueing. Source: proportionate flow shop (Pinedo, "Scheduling").
// Admission (a0 + a1 B) is on top, as host time.
TimeParts PrefillTime(const StepModel& model, const PrefillShape& shape);

}  // namespace foretoken

#endif  // FORETOKEN_ESTIMATOR_PHASES_PREFILL_H_
