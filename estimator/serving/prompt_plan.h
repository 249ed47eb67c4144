// How the prompts of a live load become engine steps: several short ones share a step, a long one takes several.
#ifndef FORETOKEN_ESTIMATOR_SERVING_PROMPT_PLAN_H_
#define FORETOKEN_ESTIMATOR_SERVING_PROMPT_PLAN_H_

#include "estimator/phases/prefill.h"
#include "estimator/serving/replica_queue.h"

namespace foretoken {

// Prompts of one length, as the engine packs them.
struct Packing {
  PrefillShape group;  // of whole prompts
  double groups = 0;   // need not be whole
  double stages = 1;   // of the pipeline: a step of all decoding sequences has room for a chunk in each

  double Steps() const { return groups * PrefillChunks(group) / stages; }
};

struct PromptPlan {
  Packing in_flight, waiting, own;
  double sharing = 0;       // waiting prompts that share the request's step; not in `waiting`
  double begins = 0;        // steps from now to the request's own: its seat is free and all before it are prefilled
  double decode_steps = 0;  // that each of the others takes after its prompt, as the request does

  // Of the prompts before the request's step.
  double Queued() const { return in_flight.Steps() + waiting.Steps(); }
  // Steps from now to the request's first token.
  double Before() const { return begins + own.Steps(); }
  // Of those that began to decode one after the other in the last `steps`, the share that has not ended.
  double Stay(double steps) const { return steps > decode_steps ? decode_steps / steps : 1; }
  // The request's group with those that share its step, whose prompts have `tokens` each: as many of mean length.
  PrefillShape SharedGroup(double tokens) const;
};

// `seat_steps`: engine steps from now until the request has a seat; `stages`: of the pipeline.
PromptPlan PlanPrompts(const ReplicaQueue& queue, double slot_steps, const Workload& workload, double stages);

}  // namespace foretoken

#endif  // FORETOKEN_ESTIMATOR_SERVING_PROMPT_PLAN_H_
