#include "server/rpc/catalog/catalog_calls.h"

#include <algorithm>

#include "estimator/base/errors.h"
#include "server/catalog/spec/field_checker.h"

namespace foretoken::rpc {
namespace {

constexpr size_t kMaxRequestIdBytes = 128;
// Of the caller's time, what the store may take.
constexpr double kStoreShare = 0.8;

}  // namespace

absl::Status RequireId(const std::string& id, std::string_view field) {
  if (id.empty()) return Refusal(Reason::kInvalidField, field, absl::StrCat(std::string(field), " is required"));
  if (id.size() <= catalog::kMaxIdLength) return absl::OkStatus();
  return Refusal(Reason::kInvalidField, field,
                 absl::StrCat(std::string(field), " ", catalog::Quoted(id), " of ", id.size(),
                              " characters; allowed up to ", catalog::kMaxIdLength));
}

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
