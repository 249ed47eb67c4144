// Long computations ask between units of work whether anybody still waits for them.
#ifndef FORETOKEN_ESTIMATOR_BASE_CANCELLED_H_
#define FORETOKEN_ESTIMATOR_BASE_CANCELLED_H_

#include "absl/functional/function_ref.h"

namespace foretoken {

// Whether the caller gave up. Once it is so, it stays so.
using Cancelled = absl::FunctionRef<bool()>;

inline bool NeverAbandoned() { return false; }

}  // namespace foretoken

#endif  // FORETOKEN_ESTIMATOR_BASE_CANCELLED_H_
