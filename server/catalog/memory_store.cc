#include "server/catalog/memory_store.h"

namespace foretoken::catalog {

absl::StatusOr<StoreContents> MemoryStore::ReadAll() {
  absl::MutexLock lock(&mutex_);
  StoreContents contents{.entries = {}, .revision = revision_};
  for (const auto& [key, entry] : entries_) contents.entries.push_back(entry);
  return contents;
}

absl::StatusOr<int64_t> MemoryStore::ReadRevision() {
  absl::MutexLock lock(&mutex_);
  return revision_;
}

absl::StatusOr<StoreWriteResult> MemoryStore::Write(const StoreWrite& write) {
  absl::MutexLock lock(&mutex_);
  std::erase_if(requests_, [&](const auto& r) { return r.second.result.update_time < write.now - kRequestIdLifetime; });
  if (const auto first = requests_.find(write.request_id); first != requests_.end()) {
    if (absl::Status status = CheckReplay(write, first->second.payload_digest); !status.ok()) return status;
    return first->second.result;
  }
  const std::pair key(write.kind, write.id);
  const auto found = entries_.find(key);
  std::optional<std::string> current;
  if (found != entries_.end()) current = found->second.etag;
  if (absl::Status status = CheckPrecondition(write, current); !status.ok()) return status;
  ++revision_;
  StoreWriteResult result{.etag = {}, .revision = revision_, .update_time = write.now, .value = {}};
  if (write.value) {
    result.etag = EtagOf(revision_);
    result.value = *write.value;
    entries_[key] = {write.kind, write.id, *write.value, result.etag, revision_, write.now};
  } else {
    entries_.erase(key);
  }
  if (!write.request_id.empty()) requests_[write.request_id] = {write.payload_digest, result};
  return result;
}

}  // namespace foretoken::catalog
