// Lays registered entries over bundled ones: a registered entry replaces the bundled entry of its id. Follows the store
// change by change, so that an entry is parsed only when it changes.
#ifndef FORETOKEN_SERVER_CATALOG_ENTRIES_OVERLAY_H_
#define FORETOKEN_SERVER_CATALOG_ENTRIES_OVERLAY_H_

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "server/catalog/entries/bundle.h"
#include "server/catalog/entries/entry_kind.h"
#include "server/catalog/entries/snapshot.h"
#include "server/catalog/store/store.h"

namespace foretoken::catalog {

// Reads a stored entry as a record. Dtypes that its profiles leave open stay open.
// Errors: DATA_LOSS or INVALID_ARGUMENT: this version cannot read it.
template <typename Kind>
absl::StatusOr<typename Kind::Record> ReadStored(const StoredEntry& stored, bool shadows_bundled);

// Not thread-safe; the snapshots are.
class Overlay {
 public:
  explicit Overlay(Bundle bundle);

  // Replaces everything registered with `contents`. True: the catalog or its revision changed.
  bool Reset(StoreContents contents);
  // Applies changes, in order of their revisions. Changes up to revision `after` are known and skipped. True: as above.
  bool Apply(StoreChanges changes, int64_t after);

  // All entries at the last revision given.
  std::shared_ptr<const Snapshot> MakeSnapshot() const;
  int64_t revision() const { return revision_; }

  // The bundled entries, without registered ones.
  const Collection<HardwareRecord>& bundled(HardwareKind) const { return *bundled_hardware_; }
  const Collection<ModelRecord>& bundled(ModelKind) const { return *bundled_models_; }

  // The stored entries that this version cannot read, by name ("hardware/my-chip").
  const std::map<std::string, v1::SkippedEntry>& skipped() const { return skipped_; }

 private:
  // Changed records of one kind, by id. Null: the registered entry was deleted.
  template <typename Record>
  using Changes = std::map<std::string, std::shared_ptr<const Record>>;

  void ApplyEntries(const std::vector<StoredEntry>& entries);
  void NoteFault(const StoredEntry& entry, const std::string& reason);
  // Notes the entry's etag and fault, and the record to show for its id.
  template <typename Kind>
  void Note(const StoredEntry& entry, Changes<typename Kind::Record>& changes);
  template <typename Kind>
  void Merge(const Changes<typename Kind::Record>& changes,
             std::shared_ptr<const Collection<typename Kind::Record>>& in);
  // Adds to `hardware` the hardware whose profiles name a changed model, then resolves all profiles in it.
  void ResolveProfiles(const Changes<ModelRecord>& changed, Changes<HardwareRecord>& hardware) const;
  // After a change of the hardware.
  void ListEngines();

  std::string bundle_digest_;
  std::shared_ptr<const ShippedCalibrations> calibrations_;
  std::shared_ptr<const Collection<HardwareRecord>> bundled_hardware_, hardware_;
  std::shared_ptr<const Collection<ModelRecord>> bundled_models_, models_;
  std::shared_ptr<const Engines> engines_;  // of hardware_ and calibrations_
  int64_t revision_ = 0;
  absl::flat_hash_map<std::pair<EntryKind, std::string>, std::string> etags_;  // of what is stored, readable or not
  std::map<std::string, v1::SkippedEntry> skipped_;
};

}  // namespace foretoken::catalog

#endif  // FORETOKEN_SERVER_CATALOG_ENTRIES_OVERLAY_H_
