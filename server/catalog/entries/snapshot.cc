#include "server/catalog/entries/snapshot.h"

#include <algorithm>
#include <array>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "estimator/base/errors.h"
#include "server/catalog/entries/closest_ids.h"
#include "server/catalog/spec/aliases.h"
#include "server/catalog/spec/field_checker.h"

namespace foretoken::catalog {
namespace {

// The closest ids are looked for in a time that grows with the length of the one that was asked for.
template <typename Record>
absl::Status Unknown(std::string_view what, std::string_view id, std::string_view field,
                     const Collection<Record>& collection) {
  const std::string name(what);
  if (id.size() > kMaxIdLength) {
    return Refusal(
        Reason::kInvalidField, field,
        absl::StrCat(name, " id ", Quoted(id), " of ", id.size(), " characters; allowed up to ", kMaxIdLength));
  }
  std::vector<std::string_view> known;
  known.reserve(collection.records().size());
  for (const auto& record : collection.records()) known.push_back(record->entry.spec().id());
  std::vector<KnownAlias> aliases;
  aliases.reserve(collection.aliases().size());
  for (const auto& [alias, record] : collection.aliases()) aliases.push_back({alias, record->entry.spec().id()});
  return Refusal(Reason::kUnknownId, field,
                 absl::StrCat("unknown ", name, " ", Quoted(id), DidYouMean(id, known, aliases)));
}

}  // namespace

template <typename Record>
Collection<Record>::Collection(std::vector<Pointer> records, const Collection* bundled) : records_(std::move(records)) {
  by_id_.reserve(records_.size());
  for (const Pointer& record : records_) by_id_.emplace(record->entry.spec().id(), record.get());
  for (const Pointer& record : records_) {
    if (record->entry.origin() == v1::ENTRY_ORIGIN_REGISTERED) AddAliases(*record, record.get());
  }
  for (const Pointer& record : bundled != nullptr ? bundled->records_ : records_) {
    AddAliases(*record, ById(record->entry.spec().id()));
  }
}

template <typename Record>
void Collection<Record>::AddAliases(const Record& from, const Record* record) {
  for (const std::string& alias : from.entry.spec().aliases()) {
    std::string name = Folded(alias);
    if (record != nullptr && !by_id_.contains(name)) by_alias_.try_emplace(std::move(name), record);
  }
}

template <typename Record>
const Record* Collection<Record>::ById(std::string_view id) const {
  const auto found = by_id_.find(absl::string_view(id.data(), id.size()));
  return found == by_id_.end() ? nullptr : found->second;
}

template <typename Record>
const Record* Collection<Record>::Find(std::string_view name) const {
  if (const Record* const found = ById(name); found != nullptr || name.size() > kMaxIdLength) return found;
  std::array<char, kMaxIdLength> lower;
  std::transform(name.begin(), name.end(), lower.begin(), [](char c) { return absl::ascii_tolower(c); });
  const absl::string_view folded(lower.data(), name.size());
  if (const Record* const found = ById({folded.data(), folded.size()})) return found;
  const auto found = by_alias_.find(folded);
  return found == by_alias_.end() ? nullptr : found->second;
}

template class Collection<HardwareRecord>;
template class Collection<ModelRecord>;

Snapshot::Snapshot(std::shared_ptr<const Collection<HardwareRecord>> hardware,
                   std::shared_ptr<const Collection<ModelRecord>> models, v1::CatalogRevision revision,
                   std::shared_ptr<const ShippedCalibrations> calibrations, std::shared_ptr<const Engines> engines)
    : hardware_(std::move(hardware)),
      models_(std::move(models)),
      revision_(std::move(revision)),
      calibrations_(std::move(calibrations)),
      engines_(std::move(engines)) {}

absl::StatusOr<const HardwareRecord*> Snapshot::FindHardware(std::string_view name, std::string_view field) const {
  if (const HardwareRecord* found = hardware_->Find(name)) return found;
  return Unknown("hardware", name, field, *hardware_);
}

absl::StatusOr<const ModelRecord*> Snapshot::FindModel(std::string_view name, std::string_view field) const {
  if (const ModelRecord* found = models_->Find(name)) return found;
  return Unknown("model", name, field, *models_);
}

const Calibration* Snapshot::FindCalibration(const Hardware& hardware, std::string_view catalog_id,
                                             std::string_view inline_vendor, std::string_view engine,
                                             const Model& model, std::string_view model_id, bool continuous) const {
  const Calibration* own =
      foretoken::FindCalibration(hardware, catalog_id, calibrations(), engine, model_id, continuous);
  if (own != nullptr && own->of_kernels && !model.mixture_of_experts) own = calibrations().Find("", "", "", continuous);
  if (engine.empty() || (own != nullptr && !own->engine.empty())) return own;
  const HardwareRecord* record = hardware_->ById(catalog_id);
  const std::string_view vendor = record == nullptr ? inline_vendor : std::string_view(record->entry.spec().vendor());
  const Calibration* relative = engines_->Nearest(hardware, vendor, engine, continuous);
  return relative != nullptr ? relative : own;
}

std::shared_ptr<const Snapshot> Snapshot::WithRevision(v1::CatalogRevision revision) const {
  return std::make_shared<Snapshot>(hardware_, models_, std::move(revision), calibrations_, engines_);
}

}  // namespace foretoken::catalog
