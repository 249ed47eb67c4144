// The two phases of a static batch on one replica, in each of the generation modes [S2]: with a KV cache, without
// one, with a cached prefix, and with a prompt that is prefilled while it arrives.
#ifndef FORETOKEN_ESTIMATOR_PHASES_PHASES_H_
#define FORETOKEN_ESTIMATOR_PHASES_PHASES_H_

#include "estimator/phases/decode.h"
#include "estimator/phases/prefill.h"
#include "estimator/phases/speculation.h"
#include "estimator/scenario/scenario.h"
#include "estimator/step/step.h"

namespace foretoken {

// The prefill of `sequences` of the workload.
PrefillShape PromptShape(const Workload& workload, const Deployment& deployment, double sequences);

// Time to load the cached prefixes of `sequences`; zero where they are resident.
Seconds PrefixLoad(const StepModel& model, const Workload& workload, double sequences);

// What the server takes for a token of a prompt before the engine sees it: the tokenizer as stated, else, under
// continuous batching, as engines do (admission_per_token).
Seconds TakeInToken(const Efficiencies& efficiencies, const Workload& workload);

// From arrival to the first token: tokenisation, the load of a prefix that is not resident (communication), and the
// prefill of what is not cached. With the pipelined prompt cache, the time after the last prompt token has arrived.
// Without prompt tokens (decode from an empty context), the first decode step.
TimeParts PrefillPhase(const StepModel& model, const Workload& workload, const Deployment& deployment,
                       double sequences);

// The decode after the first token of `sequences` on one replica, ready to be evaluated step by step. Step j = 1, 2,
// ... attends to S + j tokens. With pp stages, microbatches of sequences / pp pass through all of them. With a draft
// model, step j is the share of a speculative step that output token j + 1 takes.
class DecodePhase {
 public:
  DecodePhase(const StepModel& model, const Workload& workload, double sequences,
              const Speculator* speculator = nullptr);

  TimeParts Step(double j) const;
  // Steps 1 to `steps` together.
  TimeParts Sum(double steps) const;
  // The same for every steps[0] to steps[count - 1] at once, bit for bit. REQUIRES: a KV cache, no speculator, and what
  // DecodeCurve::Sums does.
  void Sums(const double* steps, int count, TimePartsColumns& sums) const;

 private:
  TimeParts RecomputeStep(double j) const;

  const StepModel* model_;
  double prompt_;
  double sequences_;  // of one microbatch
  bool recomputes_;   // no KV cache: every step computes all tokens again
  TokenCurve curve_;
};

}  // namespace foretoken

#endif  // FORETOKEN_ESTIMATOR_PHASES_PHASES_H_
