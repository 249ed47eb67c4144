// The prefill of a batch on one replica: whole or in chunks, on one stage or a pipeline of them.
#ifndef FORETOKEN_ESTIMATOR_PHASES_PREFILL_H_
#define FORETOKEN_ESTIMATOR_PHASES_PREFILL_H_

#include <optional>

#include "estimator/phases/pass_flow.h"
#include "estimator/phases/quadrature.h"
#include "estimator/step/prior_curve.h"
#include "estimator/step/step.h"

namespace foretoken {

struct PrefillShape {
  double sequences = 1;
  double new_tokens = 0;  // of each sequence
  double prior = 0;       // tokens of each that are cached already
  // Tokens of each sequence per step; absent: whole.
  std::optional<double> chunk_tokens;
  PassFlow flow = {};  // how passes follow each other through a pipeline
};

// Sequences that decode in the steps of a prefill.
struct CoScheduledDecodes {
  double sequences = 0;
  double context = 0;  // mean tokens that each sees
  double tokens = 1;   // that each is fed
};

// The step of chunk number `index` (from 0), all sequences in lockstep; the last one makes the first tokens.
StepShape ChunkStep(const PrefillShape& shape, double index, const CoScheduledDecodes& decodes = {});

// The time of that step.
TimeParts PrefillChunk(const StepModel& model, const PrefillShape& shape, double index);

// Number of chunks: ceil(n / C); 1 when whole.
double PrefillChunks(const PrefillShape& shape);

// The chunks of a prompt except the last, which are of one size. REQUIRES: several chunks. The model outlives it.
class WholeChunks {
 public:
  WholeChunks(const StepModel& model, const PrefillShape& shape, const CoScheduledDecodes& decodes = {});

  // The step of one chunk: as PrefillChunk, bit for bit, at a fraction of its cost.
  TimeParts operator()(double index) const { return curve_.Step(prior_ + index * size_); }

  // Of the chunks first, first + 1, ..., last. Sampled past 32 chunks. Where layers attend within their own attention
  // chunk only, the prior context rises and falls: where a rise is a whole number of chunks, a few rises are taken past
  // 96 chunks, else samples past 256. Empty: zero. REQUIRES: whole numbers.
  TimeParts Sum(double first, double last) const;

 private:
  TimeParts SumOfRises(double first, double last, double each) const;

  PriorCurve curve_;
  double prior_;
  double size_;
  double window_;  // of the attention chunks; 0: layers see everything before them, or a window of it
};

// The steps of all chunks of the shape, with these decodes. All except the last have one size.
TimeParts SumOverChunks(const StepModel& model, const PrefillShape& shape, const CoScheduledDecodes& decodes = {});

// All chunks through all stages. With pp pipeline stages, the faster of two schedules: one pass after the other, or
// pipelined passes (microbatches and chunks). Pipelined, it takes 1/pp of all passes and (pp - 1)/pp of the longest:
// (m + pp - 1)/pp passes where all m are equal. The pipeline bubble counts as queueing. Source: proportionate flow shop
// (Pinedo, "Scheduling"). Where passes follow each other more slowly, PassInterval takes the place of 1/pp. Scheduling
// overhead (a0 + a1 B) is added as host time.
TimeParts PrefillTime(const StepModel& model, const PrefillShape& shape);

}  // namespace foretoken

#endif  // FORETOKEN_ESTIMATOR_PHASES_PREFILL_H_
