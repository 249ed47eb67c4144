// Lets a long computation stop early: between units of work it asks whether its caller has given up.
#ifndef FORETOKEN_ESTIMATOR_BASE_CANCELLED_H_
#define FORETOKEN_ESTIMATOR_BASE_CANCELLED_H_

#include "absl/functional/function_ref.h"

namespace foretoken {

// Whether the caller has given up. Once true, it stays true.
using Cancelled = absl::FunctionRef<bool()>;

inline bool NeverCancelled() { return false; }

}  // namespace foretoken

#endif  // FORETOKEN_ESTIMATOR_BASE_CANCELLED_H_
