// When a refused caller should try again, carried by the status of the refusal.
#ifndef FORETOKEN_SERVER_WORK_RETRY_AFTER_H_
#define FORETOKEN_SERVER_WORK_RETRY_AFTER_H_

#include <optional>

#include "absl/status/status.h"

namespace foretoken::work {

// REQUIRES: `status` is an error.
void SetRetryAfter(double seconds, absl::Status& status);

// None: the status does not say.
std::optional<double> RetryAfterOf(const absl::Status& status);

}  // namespace foretoken::work

#endif  // FORETOKEN_SERVER_WORK_RETRY_AFTER_H_
