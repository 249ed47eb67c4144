#include "server/catalog/entries/overlay.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "server/catalog/entries/profile_dtypes.h"
#include "server/catalog/spec/field_checker.h"
#include "server/catalog/spec/timestamp.h"

namespace foretoken::catalog {
namespace {

template <typename Entry>
void Stamp(const StoredEntry& stored, bool shadows_bundled, Entry& entry) {
  entry.set_etag(stored.etag);
  entry.set_origin(v1::ENTRY_ORIGIN_REGISTERED);
  entry.set_shadows_bundled(shadows_bundled);
  SetTimestamp(stored.update_time, *entry.mutable_update_time());
}

// What tells one state of an entry in the store from another: its etag, and whether the store can read it.
std::string MarkOf(const StoredEntry& entry) {
  return entry.fault.empty() ? entry.etag : absl::StrCat(entry.etag, "!", entry.fault);
}

std::string NameOf(const StoredEntry& entry) { return absl::StrCat(std::string(KindName(entry.kind)), "/", entry.id); }

template <typename Record>
std::shared_ptr<const Collection<Record>> Collect(std::vector<Record> records) {
  std::map<std::string, std::shared_ptr<const Record>> by_id;
  for (Record& record : records) {
    std::string id = record.entry.spec().id();
    by_id.emplace(std::move(id), std::make_shared<const Record>(std::move(record)));
  }
  std::vector<std::shared_ptr<const Record>> sorted;
  sorted.reserve(by_id.size());
  for (auto& [id, record] : by_id) sorted.push_back(std::move(record));
  return std::make_shared<const Collection<Record>>(std::move(sorted));
}

template <typename Record>
std::shared_ptr<const Record> Shared(const Collection<Record>& collection, const std::string& id) {
  const auto& records = collection.records();
  const auto found =
      std::lower_bound(records.begin(), records.end(), id,
                       [](const auto& record, const std::string& key) { return record->entry.spec().id() < key; });
  return found != records.end() && (*found)->entry.spec().id() == id ? *found : nullptr;
}

// `records` with `changes` made; both are sorted by id.
template <typename Record, typename Changes>
std::vector<std::shared_ptr<const Record>> Merged(const std::vector<std::shared_ptr<const Record>>& records,
                                                  const Changes& changes) {
  std::vector<std::shared_ptr<const Record>> merged;
  merged.reserve(records.size() + changes.size());
  auto next = changes.begin();
  const auto take = [&] {
    if (next->second != nullptr) merged.push_back(next->second);
    ++next;
  };
  for (const auto& record : records) {
    const std::string& id = record->entry.spec().id();
    while (next != changes.end() && next->first < id) take();
    if (next != changes.end() && next->first == id) {
      take();
    } else {
      merged.push_back(record);
    }
  }
  while (next != changes.end()) take();
  return merged;
}

}  // namespace

template <typename Kind>
absl::StatusOr<typename Kind::Record> ReadStored(const StoredEntry& stored, bool shadows_bundled) {
  typename Kind::Spec spec;
  if (!stored.value || !spec.ParseFromString(*stored.value)) return absl::DataLossError("not a serialised entry");
  if (spec.id() != stored.id) return absl::DataLossError(absl::StrCat("holds an entry of id ", Quoted(spec.id())));
  absl::StatusOr<typename Kind::Record> record = Kind::Parse(spec);
  if (!record.ok()) return record.status();
  Stamp(stored, shadows_bundled, record->entry);
  return record;
}

template absl::StatusOr<HardwareRecord> ReadStored<HardwareKind>(const StoredEntry&, bool);
template absl::StatusOr<ModelRecord> ReadStored<ModelKind>(const StoredEntry&, bool);

Overlay::Overlay(Bundle bundle)
    : bundle_digest_(std::move(bundle.digest)),
      calibrations_(std::move(bundle.calibrations)),
      bundled_hardware_(Collect(std::move(bundle.hardware))),
      hardware_(bundled_hardware_),
      bundled_models_(Collect(std::move(bundle.models))),
      models_(bundled_models_) {
  Changes<HardwareRecord> all;
  for (const auto& record : hardware_->records()) all.emplace(record->entry.spec().id(), record);
  ResolveProfiles({}, all);
  Merge<HardwareKind>(all, hardware_);
  ListEngines();
}

bool Overlay::Reset(StoreContents contents) {
  absl::flat_hash_set<std::pair<EntryKind, std::string>> seen;
  seen.reserve(contents.entries.size());
  std::vector<StoredEntry> entries;
  for (StoredEntry& entry : contents.entries) {
    const auto key = std::make_pair(entry.kind, entry.id);
    seen.insert(key);
    const auto known = etags_.find(key);
    if (known != etags_.end() && known->second == MarkOf(entry)) continue;
    if (!entry.fault.empty() && known != etags_.end() && known->second == entry.etag) {
      NoteFault(entry, absl::StrCat(entry.fault, "; what was read before is served until the server stops"));
    } else {
      entries.push_back(std::move(entry));
    }
  }
  for (const auto& [key, etag] : etags_) {
    if (!seen.contains(key)) {
      entries.push_back({.kind = key.first, .id = key.second, .value = {}, .etag = "", .fault = ""});
    }
  }
  const bool changed = !entries.empty() || revision_ != contents.revision;
  ApplyEntries(entries);
  revision_ = contents.revision;
  return changed;
}

bool Overlay::Apply(StoreChanges changes, int64_t after) {
  std::erase_if(changes.entries, [after](const StoredEntry& entry) { return entry.revision <= after; });
  const bool changed = !changes.entries.empty() || revision_ != changes.revision;
  ApplyEntries(changes.entries);
  revision_ = changes.revision;
  return changed;
}

void Overlay::ApplyEntries(const std::vector<StoredEntry>& entries) {
  Changes<HardwareRecord> hardware;
  Changes<ModelRecord> models;
  for (const StoredEntry& entry : entries) {
    switch (entry.kind) {
      case EntryKind::kHardware:
        Note<HardwareKind>(entry, hardware);
        break;
      case EntryKind::kModel:
        Note<ModelKind>(entry, models);
        break;
      case EntryKind::kUnknown:
        NoteFault(entry, entry.fault);
        break;
    }
  }
  if (!models.empty()) Merge<ModelKind>(models, models_);
  ResolveProfiles(models, hardware);
  if (hardware.empty()) return;
  Merge<HardwareKind>(hardware, hardware_);
  ListEngines();
}

void Overlay::ListEngines() { engines_ = std::make_shared<const Engines>(calibrations_->parsed, hardware_->records()); }

void Overlay::NoteFault(const StoredEntry& entry, const std::string& reason) {
  const bool gone = !entry.value && entry.fault.empty();
  const std::string name = NameOf(entry);
  skipped_.erase(name);
  if (gone) {
    etags_.erase({entry.kind, entry.id});
    return;
  }
  etags_[{entry.kind, entry.id}] = MarkOf(entry);
  if (reason.empty()) return;
  v1::SkippedEntry& skipped = skipped_[name];
  skipped.set_name(name);
  skipped.set_store_revision(entry.revision);
  skipped.set_reason(reason);
}

template <typename Kind>
void Overlay::Note(const StoredEntry& entry, Changes<typename Kind::Record>& changes) {
  std::shared_ptr<const typename Kind::Record> bundled = Shared(this->bundled(Kind()), entry.id);
  std::string fault = entry.fault;
  if (fault.empty() && entry.value) {
    absl::StatusOr<typename Kind::Record> record = ReadStored<Kind>(entry, bundled != nullptr);
    if (record.ok()) {
      bundled = std::make_shared<const typename Kind::Record>(*std::move(record));
    } else {
      fault = std::string(record.status().message());
    }
  }
  NoteFault(entry, fault);
  changes[entry.id] = std::move(bundled);
}

template <typename Kind>
void Overlay::Merge(const Changes<typename Kind::Record>& changes,
                    std::shared_ptr<const Collection<typename Kind::Record>>& in) {
  using Record = typename Kind::Record;
  in = std::make_shared<const Collection<Record>>(Merged<Record>(in->records(), changes), &bundled(Kind()));
}

void Overlay::ResolveProfiles(const Changes<ModelRecord>& changed, Changes<HardwareRecord>& hardware) const {
  for (const auto& record : hardware_->records()) {
    if (changed.empty()) break;
    if (NamesModel(*record, [&changed](const std::string& id) { return changed.contains(id); })) {
      hardware.emplace(record->entry.spec().id(), record);  // unless it changed itself
    }
  }
  for (auto& [id, record] : hardware) {
    record = WithResolvedProfiles(record, [this](const std::string& model_id) {
      const ModelRecord* const found = models_->ById(model_id);
      return found == nullptr ? nullptr : &found->model;
    });
  }
}

std::shared_ptr<const Snapshot> Overlay::MakeSnapshot() const {
  v1::CatalogRevision revision;
  revision.set_bundle_digest(bundle_digest_);
  revision.set_store_revision(revision_);
  return std::make_shared<const Snapshot>(hardware_, models_, std::move(revision), calibrations_, engines_);
}

}  // namespace foretoken::catalog
