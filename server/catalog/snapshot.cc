#include "server/catalog/snapshot.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "estimator/errors.h"
#include "server/catalog/field_checks.h"

namespace foretoken::catalog {
namespace {

constexpr size_t kSuggestions = 3;

// Past this many edits an id is not what was meant.
int FarthestSuggestion(std::string_view asked) { return static_cast<int>(asked.size()) / 2; }

// Levenshtein's edit distance.
int EditDistance(std::string_view a, std::string_view b) {
  std::vector<int> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = static_cast<int>(j);
  for (size_t i = 1; i <= a.size(); ++i) {
    int diagonal = std::exchange(row[0], static_cast<int>(i));
    for (size_t j = 1; j <= b.size(); ++j) {
      const int replaced = diagonal + (a[i - 1] != b[j - 1]);
      diagonal = row[j];
      row[j] = std::min({replaced, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row[b.size()];
}

// How far a known id is from what was asked; an id that contains it is near however much longer it is.
int Distance(std::string_view asked, std::string_view known) {
  const int edits = EditDistance(asked, known);
  const bool contains = !asked.empty() && known.find(asked) != std::string_view::npos;
  return contains ? edits / 8 : edits;
}

template <typename Record, typename IdOf>
std::vector<std::string> Closest(std::string_view asked, const std::vector<Record>& records, const IdOf& id_of) {
  std::vector<std::pair<int, std::string>> near;
  for (const Record& record : records) {
    const int distance = Distance(asked, id_of(record));
    if (distance <= FarthestSuggestion(asked)) near.emplace_back(distance, id_of(record));
  }
  const size_t count = std::min(kSuggestions, near.size());
  std::partial_sort(near.begin(), near.begin() + static_cast<std::ptrdiff_t>(count), near.end());
  std::vector<std::string> ids;
  for (size_t i = 0; i < count; ++i) ids.push_back(std::move(near[i].second));
  return ids;
}

// The closest ids are looked for in a time that grows with the length of the one that was asked for.
template <typename Record, typename IdOf>
absl::Status Unknown(std::string_view what, std::string_view id, std::string_view field,
                     const std::vector<Record>& records, const IdOf& id_of) {
  const std::string name(what);
  if (id.size() > kMaxIdLength) {
    return Refusal(
        Reason::kInvalidField, field,
        absl::StrCat(name, " id ", Quoted(id), " of ", id.size(), " characters; allowed up to ", kMaxIdLength));
  }
  const std::vector<std::string> closest = Closest(id, records, id_of);
  std::string message = absl::StrCat("unknown ", name, " ", Quoted(id));
  if (!closest.empty()) absl::StrAppend(&message, "; did you mean ", absl::StrJoin(closest, ", "), "?");
  return Refusal(Reason::kUnknownId, field, message);
}

std::string HardwareId(const HardwareRecord& record) { return record.entry.spec().id(); }
std::string ModelId(const ModelRecord& record) { return record.entry.spec().id(); }

}  // namespace

Snapshot::Snapshot(std::vector<HardwareRecord> hardware, std::vector<ModelRecord> models, v1::CatalogRevision revision,
                   std::shared_ptr<const ShippedCalibrations> calibrations, absl::Time loaded)
    : hardware_(std::move(hardware)),
      models_(std::move(models)),
      revision_(std::move(revision)),
      calibrations_(std::move(calibrations)),
      loaded_us_(absl::ToUnixMicros(loaded)) {
  const auto by_id = [](const auto& id_of) {
    return [id_of](const auto& a, const auto& b) { return id_of(a) < id_of(b); };
  };
  std::sort(hardware_.begin(), hardware_.end(), by_id(HardwareId));
  std::sort(models_.begin(), models_.end(), by_id(ModelId));
  for (const HardwareRecord& record : hardware_) hardware_by_id_[HardwareId(record)] = &record;
  for (const ModelRecord& record : models_) models_by_id_[ModelId(record)] = &record;
}

absl::StatusOr<const HardwareRecord*> Snapshot::FindHardware(std::string_view id, std::string_view field) const {
  const auto found = hardware_by_id_.find(absl::string_view(id.data(), id.size()));
  if (found != hardware_by_id_.end()) return found->second;
  return Unknown("hardware", id, field, hardware_, HardwareId);
}

absl::StatusOr<const ModelRecord*> Snapshot::FindModel(std::string_view id, std::string_view field) const {
  const auto found = models_by_id_.find(absl::string_view(id.data(), id.size()));
  if (found != models_by_id_.end()) return found->second;
  return Unknown("model", id, field, models_, ModelId);
}

}  // namespace foretoken::catalog
