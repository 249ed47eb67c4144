#include "server/work/retry_after.h"

#include <string>

#include "absl/strings/cord.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace foretoken::work {
namespace {

constexpr absl::string_view kPayload = "foretoken/retry_after_seconds";

}  // namespace

void SetRetryAfter(double seconds, absl::Status& status) {
  status.SetPayload(kPayload, absl::Cord(absl::StrCat(seconds)));
}

std::optional<double> RetryAfterOf(const absl::Status& status) {
  const absl::optional<absl::Cord> payload = status.GetPayload(kPayload);
  double seconds = 0;
  if (!payload || !absl::SimpleAtod(std::string(*payload), &seconds)) return std::nullopt;
  return seconds;
}

}  // namespace foretoken::work
