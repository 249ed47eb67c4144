// What differs between the two kinds of catalog entries, so that everything else is written once.
#ifndef FORETOKEN_SERVER_CATALOG_ENTRIES_ENTRY_KIND_H_
#define FORETOKEN_SERVER_CATALOG_ENTRIES_ENTRY_KIND_H_

#include <string_view>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "server/catalog/entries/snapshot.h"
#include "server/catalog/spec/digest.h"
#include "server/catalog/spec/parse.h"
#include "server/catalog/store/store.h"

namespace foretoken::catalog {

struct HardwareKind {
  using Spec = v1::HardwareSpec;
  using Entry = v1::HardwareEntry;
  using Record = HardwareRecord;
  static constexpr EntryKind kKind = EntryKind::kHardware;
  static constexpr const char* kIdField = "hardware_id";
  static constexpr const char* kFolder = "hardware";

  static absl::StatusOr<Record> Parse(const Spec& spec) {
    absl::StatusOr<Hardware> parsed = ParseHardware(spec);
    if (!parsed.ok()) return parsed.status();
    Record record{.entry = {}, .hardware = *std::move(parsed)};
    *record.entry.mutable_spec() = spec;
    return record;
  }
  static absl::StatusOr<const Record*> Find(const Snapshot& snapshot, std::string_view id) {
    return snapshot.FindHardware(id, kIdField);
  }
  static const Record* LookUp(const Snapshot& snapshot, std::string_view name) { return snapshot.LookUpHardware(name); }
};

struct ModelKind {
  using Spec = v1::ModelSpec;
  using Entry = v1::ModelEntry;
  using Record = ModelRecord;
  static constexpr EntryKind kKind = EntryKind::kModel;
  static constexpr const char* kIdField = "model_id";
  static constexpr const char* kFolder = "models";

  static absl::StatusOr<Record> Parse(const Spec& spec) {
    absl::StatusOr<Model> parsed = ParseModel(spec);
    if (!parsed.ok()) return parsed.status();
    Record record{.entry = {}, .model = *std::move(parsed)};
    *record.entry.mutable_spec() = spec;
    return record;
  }
  static absl::StatusOr<const Record*> Find(const Snapshot& snapshot, std::string_view id) {
    return snapshot.FindModel(id, kIdField);
  }
  static const Record* LookUp(const Snapshot& snapshot, std::string_view name) { return snapshot.LookUpModel(name); }
};

// The etag of a bundled entry: the start of its content's digest.
template <typename Spec>
std::string BundledEtag(const Spec& spec) {
  return absl::StrCat("b", Sha256Hex(spec.SerializeAsString()).substr(0, 16));
}

}  // namespace foretoken::catalog

#endif  // FORETOKEN_SERVER_CATALOG_ENTRIES_ENTRY_KIND_H_
