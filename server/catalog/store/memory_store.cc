#include "server/catalog/store/memory_store.h"

#include <algorithm>

namespace foretoken::catalog {
namespace {

// Of one text that a write keeps, with what the containers around it take.
int64_t KeptBytes(const std::optional<std::string>& value) {
  constexpr int64_t kAround = 300;
  return kAround + (value ? static_cast<int64_t>(value->size()) : 0);
}

}  // namespace

StoredEntry MemoryStore::EntryOf(const Key& key, const StoredRevision& revision) {
  return {key.first, key.second, revision.value, revision.etag, revision.revision, revision.update_time, ""};
}

absl::StatusOr<StoreContents> MemoryStore::ReadAll() {
  absl::MutexLock lock(&mutex_);
  StoreContents contents{.entries = {}, .revision = revision_};
  for (const auto& [key, history] : history_) {
    if (history.front().value) contents.entries.push_back(EntryOf(key, history.front()));
  }
  return contents;
}

absl::StatusOr<int64_t> MemoryStore::ReadRevision(absl::Time) {
  absl::MutexLock lock(&mutex_);
  return revision_;
}

absl::StatusOr<std::optional<StoreChanges>> MemoryStore::ReadChanges(int64_t after, int64_t, absl::Time) {
  absl::MutexLock lock(&mutex_);
  StoreChanges changes{.entries = {}, .revision = revision_};
  for (const auto& [key, history] : history_) {
    if (history.front().revision > after) changes.entries.push_back(EntryOf(key, history.front()));
  }
  std::sort(changes.entries.begin(), changes.entries.end(),
            [](const StoredEntry& a, const StoredEntry& b) { return a.revision < b.revision; });
  return changes;
}

absl::StatusOr<std::vector<StoredRevision>> MemoryStore::ReadHistory(EntryKind kind, const std::string& id) {
  absl::MutexLock lock(&mutex_);
  const auto found = history_.find(Key(kind, id));
  return found == history_.end() ? std::vector<StoredRevision>() : found->second;
}

StoredRevision MemoryStore::Next(const StoreWrite& write, const std::vector<StoredRevision>& history) {
  ++revision_;
  return {.revision = revision_,
          .sequence = history.empty() ? 1 : history.front().sequence + 1,
          .update_time = write.now,
          .author = write.author,
          .peer = write.peer,
          .action = write.action,
          .value = write.value,
          .etag = write.value ? EtagOf(store_id_, revision_) : "",
          .fault = ""};
}

StoreUsage MemoryStore::UsageAfter(const StoreWrite& write, bool registered) const {
  StoreUsage usage = usage_;
  usage.entries += (write.value ? 1 : 0) - (registered ? 1 : 0);
  usage.bytes += KeptBytes(write.value) * (write.request_id.empty() ? 1 : 2);
  const auto found = history_.find(Key(write.kind, write.id));
  if (found != history_.end() && found->second.size() >= kKeptRevisions) {
    usage.bytes -= KeptBytes(found->second.back().value);
  }
  return usage;
}

absl::StatusOr<StoreWriteResult> MemoryStore::Write(const StoreWrite& write) {
  absl::MutexLock lock(&mutex_);
  std::erase_if(requests_, [&](const auto& r) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    const bool old = r.second.result.update_time < write.now - kRequestIdLifetime;
    if (old) usage_.bytes -= KeptBytes(r.second.result.value);
    return old;
  });
  if (const auto first = requests_.find(write.request_id); first != requests_.end()) {
    if (absl::Status status = CheckReplay(write, first->second.payload_digest); !status.ok()) return status;
    return first->second.result;
  }
  const Key key(write.kind, write.id);
  const auto found = history_.find(key);
  std::optional<std::string> current;
  if (found != history_.end() && found->second.front().value) current = found->second.front().etag;
  if (absl::Status status = CheckPrecondition(write, current); !status.ok()) return status;
  const StoreUsage after = UsageAfter(write, current.has_value());
  if (absl::Status status = CheckRoom(write, usage_, after, limits_); !status.ok()) return status;
  if (write.dry_run) return StoreWriteResult{"", revision_, write.now, write.value};
  usage_ = after;
  std::vector<StoredRevision>& history = history_[key];
  history.insert(history.begin(), Next(write, history));
  if (history.size() > kKeptRevisions) history.pop_back();
  const StoreWriteResult result{history.front().etag, revision_, write.now, write.value};
  if (!write.request_id.empty()) requests_[write.request_id] = {write.payload_digest, result};
  return result;
}

}  // namespace foretoken::catalog
