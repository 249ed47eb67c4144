#include "server/catalog/catalog.h"

#include <utility>

#include "absl/container/flat_hash_map.h"
#include "estimator/errors.h"
#include "estimator/scenario.h"
#include "server/catalog/entry_kind.h"

namespace foretoken::catalog {
namespace {

// Generations are drawn from one counter, so that no two snapshots of any catalog share one.
uint64_t NextGeneration() {
  static std::atomic<uint64_t> last{0};
  return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

template <typename Kind>
const typename Kind::Record* FindBundled(const Bundle& bundle, const std::string& id) {
  for (const auto& record : Kind::In(bundle)) {
    if (record.entry.spec().id() == id) return &record;
  }
  return nullptr;
}

template <typename Entry>
void Stamp(const std::string& etag, absl::Time update_time, bool shadows, Entry& entry) {
  entry.set_etag(etag);
  entry.set_origin(v1::ENTRY_ORIGIN_REGISTERED);
  entry.set_shadows_bundled(shadows);
  const int64_t micros = absl::ToUnixMicros(update_time);
  entry.mutable_update_time()->set_seconds(micros / 1'000'000);
  entry.mutable_update_time()->set_nanos(static_cast<int32_t>(micros % 1'000'000 * 1000));
}

// A stored entry as a record; an error where this version cannot read it.
template <typename Kind>
absl::StatusOr<typename Kind::Record> ReadStored(const StoredEntry& stored, const Bundle& bundle) {
  typename Kind::Spec spec;
  if (!spec.ParseFromString(stored.value) || spec.id() != stored.id) {
    return absl::DataLossError("not a stored entry");
  }
  absl::StatusOr<typename Kind::Record> record = Kind::Parse(spec);
  if (!record.ok()) return record.status();
  Stamp(stored.etag, stored.update_time, FindBundled<Kind>(bundle, stored.id) != nullptr, record->entry);
  return record;
}

// Bundled records overlaid by the stored ones of their kind. Counts what cannot be read.
template <typename Kind>
std::vector<typename Kind::Record> Overlay(const Bundle& bundle, const StoreContents& contents, int& skipped) {
  absl::flat_hash_map<std::string, typename Kind::Record> by_id;
  for (const auto& record : Kind::In(bundle)) by_id.emplace(record.entry.spec().id(), record);
  for (const StoredEntry& stored : contents.entries) {
    if (stored.kind != Kind::kKind) continue;
    absl::StatusOr<typename Kind::Record> record = ReadStored<Kind>(stored, bundle);
    if (record.ok()) {
      by_id.insert_or_assign(stored.id, *std::move(record));
    } else {
      ++skipped;
    }
  }
  std::vector<typename Kind::Record> records;
  records.reserve(by_id.size());
  for (auto& [id, record] : by_id) records.push_back(std::move(record));
  return records;
}

// A profile that leaves its dtypes open means those of its model's native deployment.
void ResolveProfiles(const std::vector<ModelRecord>& models, std::vector<HardwareRecord>& hardware) {
  absl::flat_hash_map<std::string, const Model*> by_id;
  for (const ModelRecord& record : models) by_id[record.entry.spec().id()] = &record.model;
  for (HardwareRecord& record : hardware) {
    for (LinearProfile& profile : record.hardware.linear_profiles) {
      const auto model = by_id.find(profile.key.model_id);
      if (model == by_id.end()) continue;
      Deployment deployment{.weight_dtype = profile.key.weight_dtype, .kv_cache_dtype = profile.key.kv_cache_dtype};
      ResolveDtypes(*model->second, deployment);
      profile.key.weight_dtype = deployment.weight_dtype;
      profile.key.kv_cache_dtype = deployment.kv_cache_dtype;
    }
  }
}

// Models have nothing to keep.
void KeepProfiles(const Snapshot&, v1::ModelSpec&) {}

// What is registered under the id, as the snapshot knows it.
template <typename Kind>
std::optional<std::string> RegisteredEtag(const Snapshot& snapshot, const std::string& id) {
  const auto record = Kind::Find(snapshot, id);
  if (!record.ok() || (*record)->entry.origin() != v1::ENTRY_ORIGIN_REGISTERED) return std::nullopt;
  return (*record)->entry.etag();
}

// A refusal as the caller of a write has to see it: the store knows of no bundled entries, so where the etag stood for
// one (`named_bundled`) it was asked to create, and where nothing is registered it has no etag to tell.
absl::Status WithBundledEtag(const absl::Status& refusal, const std::string& bundled_etag, bool named_bundled) {
  RefusalDetail detail = DetailOf(refusal);
  if (named_bundled && detail.reason == Reason::kAlreadyExists) {
    const std::string found = absl::StrCat("etag \"", bundled_etag, "\" is of the bundled entry; the current one is \"",
                                           detail.current_etag, "\" of a registered one");
    detail.reason = Reason::kEtagMismatch;
    detail.violations = {{"etag", found}};
    return RefusalWithDetail(found, detail);
  }
  if (detail.reason != Reason::kEtagMismatch || !detail.current_etag.empty() || bundled_etag.empty()) return refusal;
  detail.current_etag = bundled_etag;
  return RefusalWithDetail(absl::StrCat(refusal.message(), "; the bundled entry has etag \"", bundled_etag, "\""),
                           detail);
}

}  // namespace

void KeepProfiles(const Snapshot& snapshot, v1::HardwareSpec& spec) {
  const auto before = HardwareKind::Find(snapshot, spec.id());
  if (!before.ok()) return;
  const v1::HardwareSpec& kept = (*before)->entry.spec();
  if (spec.linear_profiles_size() == 0) *spec.mutable_linear_profiles() = kept.linear_profiles();
  if (spec.calibrations_size() == 0) *spec.mutable_calibrations() = kept.calibrations();
}

Catalog::Catalog(Bundle bundle, std::unique_ptr<CatalogStore> store, Clock clock)
    : bundle_(std::move(bundle)), store_(std::move(store)), clock_(std::move(clock)) {}

absl::StatusOr<std::unique_ptr<Catalog>> Catalog::Open(Bundle bundle, std::unique_ptr<CatalogStore> store,
                                                       Clock clock) {
  auto catalog = std::unique_ptr<Catalog>(new Catalog(std::move(bundle), std::move(store), std::move(clock)));
  absl::MutexLock lock(&catalog->store_mutex_);
  if (absl::Status status = catalog->Reload(); !status.ok()) return status;
  return catalog;
}

std::shared_ptr<const Snapshot> Catalog::Current() const {
  absl::MutexLock lock(&mutex_);
  return current_;
}

std::shared_ptr<const Snapshot> Catalog::snapshot() const {
  struct Cached {
    uint64_t generation = 0;
    std::shared_ptr<const Snapshot> snapshot;
  };
  thread_local Cached cached;
  const uint64_t generation = generation_.load(std::memory_order_acquire);
  if (cached.generation != generation) cached = {generation, Current()};
  return cached.snapshot;
}

absl::Status Catalog::Reload() {
  absl::StatusOr<StoreContents> contents = store_->ReadAll();
  if (!contents.ok()) return contents.status();
  Swap(*std::move(contents));
  return absl::OkStatus();
}

void Catalog::Swap(StoreContents contents) {
  int skipped = 0;
  std::vector<ModelRecord> models = Overlay<ModelKind>(bundle_, contents, skipped);
  std::vector<HardwareRecord> hardware = Overlay<HardwareKind>(bundle_, contents, skipped);
  ResolveProfiles(models, hardware);
  v1::CatalogRevision revision;
  revision.set_bundle_digest(bundle_.digest);
  revision.set_store_revision(contents.revision);
  auto next = std::make_shared<Snapshot>(std::move(hardware), std::move(models), std::move(revision),
                                         bundle_.calibrations, clock_());
  absl::MutexLock lock(&mutex_);
  current_ = std::move(next);
  skipped_.store(skipped, std::memory_order_relaxed);
  generation_.store(NextGeneration(), std::memory_order_release);
}

absl::Status Catalog::ReloadIfMoved() {
  const absl::StatusOr<int64_t> revision = store_->ReadRevision();
  if (!revision.ok()) return revision.status();
  const std::shared_ptr<const Snapshot> current = Current();
  if (current->revision().store_revision() != *revision) return Reload();
  current->MarkLoaded(clock_());
  return absl::OkStatus();
}

absl::Status Catalog::Refresh() {
  absl::MutexLock lock(&store_mutex_);
  return ReloadIfMoved();
}

template <typename Kind>
absl::StatusOr<typename Kind::Entry> Catalog::Put(const typename Kind::Spec& spec, const WriteOptions& options) {
  absl::MutexLock lock(&store_mutex_);
  if (options.validate_only) {
    if (absl::Status status = ReloadIfMoved(); !status.ok()) return status;
  }
  const std::shared_ptr<const Snapshot> current = Current();
  typename Kind::Spec kept = spec;
  KeepProfiles(*current, kept);
  if (kept.id().empty()) return Refusal(Reason::kInvalidField, "spec.id", "spec.id is required");
  absl::StatusOr<typename Kind::Record> record = Kind::Parse(kept);
  if (!record.ok()) return WithFieldPrefix(record.status(), "spec.");

  const auto* bundled = FindBundled<Kind>(bundle_, kept.id());
  const std::optional<std::string> registered = RegisteredEtag<Kind>(*current, kept.id());
  StoreWrite write{.kind = Kind::kKind,
                   .id = kept.id(),
                   .value = kept.SerializeAsString(),
                   .etag = options.etag,
                   .request_id = options.request_id,
                   .payload_digest = options.payload_digest,
                   .now = clock_()};
  const std::string bundled_etag = bundled == nullptr ? "" : bundled->entry.etag();
  const bool names_bundled = bundled != nullptr && options.etag == bundled_etag;
  if (names_bundled) write.etag.reset();
  if (options.validate_only) {
    if (absl::Status status = CheckPrecondition(write, registered); !status.ok()) {
      return WithBundledEtag(status, bundled_etag, names_bundled);
    }
    Stamp("", write.now, bundled != nullptr, record->entry);
    return std::move(record->entry);
  }
  absl::StatusOr<StoreWriteResult> result = store_->Write(write);
  if (!result.ok()) return WithBundledEtag(result.status(), bundled_etag, names_bundled);
  Reload().IgnoreError();  // stored it is; a store that cannot be read back now is told by the next Refresh
  const StoredEntry stored{write.kind, write.id, result->value, result->etag, result->revision, result->update_time};
  absl::StatusOr<typename Kind::Record> written = ReadStored<Kind>(stored, bundle_);
  if (!written.ok()) return written.status();
  return std::move(written->entry);
}

template <typename Kind>
absl::Status Catalog::Delete(const std::string& id, const WriteOptions& options) {
  absl::MutexLock lock(&store_mutex_);
  const absl::StatusOr<StoreWriteResult> result = store_->Write({.kind = Kind::kKind,
                                                                 .id = id,
                                                                 .value = std::nullopt,
                                                                 .etag = options.etag,
                                                                 .request_id = options.request_id,
                                                                 .payload_digest = options.payload_digest,
                                                                 .now = clock_()});
  if (result.ok()) {
    Reload().IgnoreError();
    return absl::OkStatus();
  }
  if (DetailOf(result.status()).reason != Reason::kUnknownId) return result.status();
  const auto record = Kind::Find(*Current(), id);
  if (!record.ok()) return record.status();
  if ((*record)->entry.origin() == v1::ENTRY_ORIGIN_REGISTERED) {  // another process was first
    Reload().IgnoreError();
    return Refusal(Reason::kUnknownId, Kind::kIdField,
                   absl::StrCat("\"", id, "\" is not registered any more: another call has deleted it"));
  }
  return Refusal(Reason::kBundledEntry, Kind::kIdField,
                 absl::StrCat("\"", id, "\" is bundled: it cannot be deleted, only shadowed by a registered entry"));
}

absl::StatusOr<v1::HardwareEntry> Catalog::PutHardware(const v1::HardwareSpec& spec, const WriteOptions& options) {
  return Put<HardwareKind>(spec, options);
}
absl::StatusOr<v1::ModelEntry> Catalog::PutModel(const v1::ModelSpec& spec, const WriteOptions& options) {
  return Put<ModelKind>(spec, options);
}
absl::Status Catalog::DeleteHardware(const std::string& id, const WriteOptions& options) {
  return Delete<HardwareKind>(id, options);
}
absl::Status Catalog::DeleteModel(const std::string& id, const WriteOptions& options) {
  return Delete<ModelKind>(id, options);
}

}  // namespace foretoken::catalog
