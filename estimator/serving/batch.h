// Static batching: all prompts of a batch are prefilled together, and the batch ends with its longest sequence.
#ifndef FORETOKEN_ESTIMATOR_SERVING_BATCH_H_
#define FORETOKEN_ESTIMATOR_SERVING_BATCH_H_

#include <vector>

#include "absl/status/statusor.h"
#include "estimator/serving/served.h"

namespace foretoken {

// A batch on one replica.
struct BatchTimes {
  TimeParts prefill;
  TimeParts decode;         // until the longest sequence ends
  double decode_steps = 0;  // of the longest sequence

  Seconds Total() const { return prefill.Total() + decode.Total(); }
};

// The prefill of `sequences` by the model, and after it by the draft model if there is one.
TimeParts PromptPhase(const Replica& replica, const Workload& workload, double sequences);

// Fills in the prefill of a steady state in which each step takes `together` prompts. Cached prefixes are loaded one
// after the other: served.prefill holds the load of one prefix, served.prefill_work the loads of all.
void FillPrompts(const Replica& replica, double together, Served& served);

// The mean speculative step while a replica decodes `sequences`. REQUIRES: replica.speculator.
SpeculationEstimate MeanRound(const Replica& replica, double sequences, double decode_steps);

// The times of a batch of `sequences` on one replica.
BatchTimes TimeBatch(const Replica& replica, double sequences);

// What a request of such a batch meets if nothing runs before the batch. The caller fills in the rate.
Served ServedAlone(const Replica& replica, double sequences);

// Batches that run one after the other. A batch that does not fit in memory is refused, or runs as equal sequential
// batches: a request of the last one waits for those before it. Errors: kOutOfMemory.
absl::StatusOr<Served> ServeStatic(const Replica& replica, std::vector<Warning>& warnings);

}  // namespace foretoken

#endif  // FORETOKEN_ESTIMATOR_SERVING_BATCH_H_
