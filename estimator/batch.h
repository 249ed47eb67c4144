// Static batches: all prompts are prefilled together, and the batch ends with its longest sequence.
#ifndef FORETOKEN_ESTIMATOR_BATCH_H_
#define FORETOKEN_ESTIMATOR_BATCH_H_

#include <vector>

#include "absl/status/statusor.h"
#include "estimator/serving.h"

namespace foretoken {

// One batch after the other. A batch that does not fit is refused, or runs in equal waves; a request of the last wave
// waits for the waves before. Errors: kOutOfMemory.
absl::StatusOr<Served> ServeStatic(const Replica& replica, std::vector<Warning>& warnings);

}  // namespace foretoken

#endif  // FORETOKEN_ESTIMATOR_BATCH_H_
