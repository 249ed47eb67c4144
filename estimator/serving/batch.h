// Static batches: all prompts are prefilled together, and the batch ends with its longest sequence.
#ifndef FORETOKEN_ESTIMATOR_SERVING_BATCH_H_
#define FORETOKEN_ESTIMATOR_SERVING_BATCH_H_

#include <vector>

#include "absl/status/statusor.h"
#include "estimator/serving/served.h"

namespace foretoken {

// A batch on one replica.
struct BatchTimes {
  TimeParts prefill;
  TimeParts decode;         // to the end of the longest sequence
  double decode_steps = 0;  // of that

  Seconds Total() const { return prefill.Total() + decode.Total(); }
};

// The prefill of `sequences`, by the model and then by the draft where there is one.
TimeParts PromptPhase(const Replica& replica, const Workload& workload, double sequences);

// Sets the prefill of a steady state in which prompts go `together` into a step, and its work. Prefixes are loaded one
// after the other: a request has its own in its prefill, the work all.
void FillPrompts(const Replica& replica, double together, Served& served);

// The mean round of a decode of `sequences` on a replica. REQUIRES: replica.speculator.
SpeculationEstimate MeanRound(const Replica& replica, double sequences, double decode_steps);

BatchTimes TimeBatch(const Replica& replica, double sequences);

// The same as a request of it meets it, with nothing before it. The caller fills in the rate.
Served ServedAlone(const Replica& replica, double sequences);

// One batch after the other. A batch that does not fit is refused, or runs in equal waves; a request of the last wave
// waits for the waves before. Errors: kOutOfMemory.
absl::StatusOr<Served> ServeStatic(const Replica& replica, std::vector<Warning>& warnings);

}  // namespace foretoken

#endif  // FORETOKEN_ESTIMATOR_SERVING_BATCH_H_
