#include "server/catalog/store/store.h"

#include "absl/random/random.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "estimator/base/errors.h"
#include "server/catalog/spec/field_checker.h"
#include "server/catalog/store/store_fault.h"

namespace foretoken::catalog {
namespace {

std::string Describe(const StoreWrite& write) {
  return absl::StrCat(std::string(KindName(write.kind)), " ", Quoted(write.id));
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
      absl::StrCat(Describe(write), ": etag ", Quoted(*write.etag), " given; the current one is ", found),
      {.reason = Reason::kEtagMismatch,
       .violations = {{"etag", absl::StrCat("is not the current one, ", found)}},
       .current_etag = current_etag.value_or("")});
}

absl::Status CheckRoom(const StoreWrite& write, const StoreUsage& before, const StoreUsage& after,
                       const StoreLimits& limits) {
  if (!write.value) return absl::OkStatus();
  if (after.entries > before.entries && after.entries > limits.max_entries) {
    return Refusal(Reason::kLimitExceeded, "spec",
                   absl::StrCat(Describe(write), " would be one more than the ", before.entries,
                                " entries of the store; allowed up to ", limits.max_entries, " (--max_store_entries)"));
  }
  if (after.bytes > before.bytes && after.bytes > limits.max_bytes) {
    return Refusal(
        Reason::kLimitExceeded, "spec",
        absl::StrCat(Describe(write), " would take the store from ", before.bytes, " to ", after.bytes,
                     " bytes, kept revisions included; allowed up to ", limits.max_bytes, " (--max_store_bytes)"));
  }
  return absl::OkStatus();
}

absl::Status CheckReplay(const StoreWrite& write, const std::string& first_digest) {
  if (first_digest == write.payload_digest) return absl::OkStatus();
  return Refusal(Reason::kRequestIdReused, "request_id",
                 absl::StrCat("request_id \"", write.request_id, "\" was used before with another payload"));
}

std::string EtagOf(const std::string& store_id, int64_t revision) { return absl::StrCat("r", revision, "-", store_id); }

std::string RandomStoreId() {
  absl::BitGen random;
  return absl::StrFormat("%08x", absl::Uniform<uint32_t>(random));
}

std::string_view KindName(EntryKind kind) {
  switch (kind) {
    case EntryKind::kHardware:
      return "hardware";
    case EntryKind::kModel:
      return "model";
    case EntryKind::kUnknown:
      break;
  }
  return "unknown";
}

std::string PrintableName(std::string_view name) {
  constexpr size_t kShown = 64;
  const std::string_view start = name.substr(0, kShown);
  return absl::CHexEscape(absl::string_view(start.data(), start.size()));
}

void MarkUnreadable(std::string fault, StoredEntry& entry) {
  entry.fault = std::move(fault);
  entry.value.reset();
  if (absl::CHexEscape(entry.id) == entry.id) return;
  entry.id = absl::StrCat(std::string(KindName(entry.kind)), "/", PrintableName(entry.id));
  entry.kind = EntryKind::kUnknown;
}

StoredRevision UnreadableRevision(int64_t revision, int64_t sequence, std::string_view fault) {
  StoredRevision one;
  one.revision = revision;
  one.sequence = sequence;
  one.action = static_cast<WriteAction>(0);
  one.fault = std::string(fault);
  return one;
}

absl::Status DamagedAnswer(const StoreWrite& write) {
  return Refusal(Reason::kStoreUnavailable, "",
                 absl::StrCat("catalog store: the answer to request_id \"", write.request_id,
                              "\" is damaged: read the entry, and write with another request_id"));
}

absl::Status WithOutcome(const absl::Status& status, std::string_view outcome) {
  if (DetailOf(status).reason != Reason::kStoreUnavailable) return status;
  return WithInsideOf(Refusal(Reason::kStoreUnavailable, "", absl::StrCat(status.message(), std::string(outcome))),
                      status);
}

void CatalogStore::OnChange(std::function<void()>) {}

}  // namespace foretoken::catalog
