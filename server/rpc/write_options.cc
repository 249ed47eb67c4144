#include "server/rpc/write_options.h"

#include <algorithm>

#include "estimator/errors.h"

namespace foretoken::rpc {
namespace {

constexpr size_t kMaxRequestIdBytes = 128;
// Of the caller's time, what the store may take.
constexpr double kStoreShare = 0.8;

}  // namespace

absl::Status CheckRequestId(const std::string& id) {
  bool printable = id.size() <= kMaxRequestIdBytes;
  for (const char c : id) printable = printable && c >= ' ' && c < 0x7f;
  if (printable) return absl::OkStatus();
  return Refusal(
      Reason::kInvalidField, "request_id",
      absl::StrCat("request_id of ", id.size(), " bytes; allowed up to ", kMaxRequestIdBytes, " printable characters"));
}

absl::Time StoreDeadline(absl::Time now, absl::Time callers) {
  return now + std::min(catalog::kWriteTimeout, (callers - now) * kStoreShare);
}

}  // namespace foretoken::rpc
