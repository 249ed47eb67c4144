#include "server/catalog/store.h"

#include "absl/strings/str_cat.h"
#include "estimator/errors.h"

namespace foretoken::catalog {
namespace {

std::string Describe(const StoreWrite& write) {
  return absl::StrCat(write.kind == EntryKind::kHardware ? "hardware" : "model", " \"", write.id, "\"");
}

}  // namespace

absl::Status CheckPrecondition(const StoreWrite& write, const std::optional<std::string>& current_etag) {
  if (!write.value && !current_etag) {
    return Refusal(Reason::kUnknownId, "", absl::StrCat(Describe(write), " is not registered"));
  }
  if (write.etag == "*") return absl::OkStatus();
  if (!write.etag) {
    if (!write.value || !current_etag) return absl::OkStatus();
    return RefusalWithDetail(absl::StrCat(Describe(write), " is registered already with etag \"", *current_etag,
                                          "\"; give that etag to replace it, or \"*\""),
                             {.reason = Reason::kAlreadyExists, .violations = {}, .current_etag = *current_etag});
  }
  if (current_etag == write.etag) return absl::OkStatus();
  const std::string found = current_etag ? absl::StrCat("\"", *current_etag, "\"") : "none: nothing is registered";
  return RefusalWithDetail(
      absl::StrCat(Describe(write), ": etag \"", *write.etag, "\" given; the current one is ", found),
      {.reason = Reason::kEtagMismatch,
       .violations = {{"etag", absl::StrCat("is not the current one, ", found)}},
       .current_etag = current_etag.value_or("")});
}

absl::Status CheckReplay(const StoreWrite& write, const std::string& first_digest) {
  if (first_digest == write.payload_digest) return absl::OkStatus();
  return Refusal(Reason::kRequestIdReused, "request_id",
                 absl::StrCat("request_id \"", write.request_id, "\" was used before with another payload"));
}

std::string EtagOf(int64_t revision) { return absl::StrCat("r", revision); }

}  // namespace foretoken::catalog
