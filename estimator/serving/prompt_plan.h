// How the prompts of a live load become engine steps: several short prompts share a step, a long prompt takes several.
#ifndef FORETOKEN_ESTIMATOR_SERVING_PROMPT_PLAN_H_
#define FORETOKEN_ESTIMATOR_SERVING_PROMPT_PLAN_H_

#include "estimator/phases/prefill.h"
#include "estimator/serving/replica_queue.h"

namespace foretoken {

// Prompts of one length, as the engine packs them.
struct Packing {
  PrefillShape group;  // of whole prompts
  double groups = 0;   // may be a fraction
  double stages = 1;   // of the pipeline: each prefills a chunk while all decoding sequences make a step

  double Steps() const { return groups * PrefillChunks(group) / stages; }
};

struct PromptPlan {
  Packing in_flight, waiting, own;
  double sharing = 0;       // waiting prompts that share the request's step; not in `waiting`
  double begins = 0;        // steps until the request's own: it has a batch slot, and all before it are prefilled
  double decode_steps = 0;  // of each other request after its prompt, the same as this request's

  // Steps of the prompts before the request's step.
  double Queued() const { return in_flight.Steps() + waiting.Steps(); }
  // Steps from now to the request's first token.
  double Before() const { return begins + own.Steps(); }
  // The share still running of sequences that began to decode one after the other in the last `steps`.
  double Stay(double steps) const { return steps > decode_steps ? decode_steps / steps : 1; }
  // The request's group with the prompts of `tokens` that share its step, as prompts of the mean length.
  PrefillShape SharedGroup(double tokens) const;
};

// `slot_steps`: engine steps until the request has a batch slot; `stages`: of the pipeline.
PromptPlan PlanPrompts(const ReplicaQueue& queue, double slot_steps, const Workload& workload, double stages);

}  // namespace foretoken

#endif  // FORETOKEN_ESTIMATOR_SERVING_PROMPT_PLAN_H_
