#include "server/catalog/entries/snapshot.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "estimator/base/errors.h"
#include "server/catalog/spec/field_checker.h"

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

// As ids are written: in lower case, without the owner that a repository's name starts with.
std::string AsId(std::string_view asked) {
  const size_t slash = asked.rfind('/');
  if (slash != std::string_view::npos) asked.remove_prefix(slash + 1);
  std::string id(asked);
  absl::AsciiStrToLower(&id);
  return id;
}

// "nvidia-h100-80gb-sxm" and "nvidia-h100-sxm-80gb" have the same.
std::string SortedWords(const std::string& id) {
  std::vector<absl::string_view> words = absl::StrSplit(id, '-');
  std::sort(words.begin(), words.end());
  return absl::StrJoin(words, "-");
}

// How far a known id is from what was asked, its words in any order; an id that contains it is near however much longer
// it is.
int Distance(const std::string& asked, const std::string& asked_words, const std::string& known) {
  const int edits = EditDistance(asked, known);
  const bool contains = !asked.empty() && known.find(asked) != std::string::npos;
  return contains ? edits / 8 : std::min(edits, 1 + EditDistance(asked_words, SortedWords(known)));
}

template <typename Record>
std::vector<std::string> Closest(const std::string& asked, const Collection<Record>& collection) {
  const std::string words = SortedWords(asked);
  std::vector<std::pair<int, std::string>> near;
  for (const auto& record : collection.records()) {
    const std::string& id = record->entry.spec().id();
    const int distance = Distance(asked, words, id);
    if (distance <= FarthestSuggestion(asked)) near.emplace_back(distance, id);
  }
  const size_t count = std::min(kSuggestions, near.size());
  std::partial_sort(near.begin(), near.begin() + static_cast<std::ptrdiff_t>(count), near.end());
  std::vector<std::string> ids;
  for (size_t i = 0; i < count; ++i) ids.push_back(std::move(near[i].second));
  return ids;
}

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
  const std::vector<std::string> closest = Closest(AsId(id), collection);
  std::string message = absl::StrCat("unknown ", name, " ", Quoted(id));
  if (!closest.empty()) absl::StrAppend(&message, "; did you mean ", absl::StrJoin(closest, ", "), "?");
  return Refusal(Reason::kUnknownId, field, message);
}

}  // namespace

template <typename Record>
Collection<Record>::Collection(std::vector<Pointer> records) : records_(std::move(records)) {
  by_id_.reserve(records_.size());
  for (const Pointer& record : records_) by_id_.emplace(record->entry.spec().id(), record.get());
}

template <typename Record>
const Record* Collection<Record>::Find(std::string_view id) const {
  const auto found = by_id_.find(absl::string_view(id.data(), id.size()));
  return found == by_id_.end() ? nullptr : found->second;
}

template class Collection<HardwareRecord>;
template class Collection<ModelRecord>;

Snapshot::Snapshot(std::shared_ptr<const Collection<HardwareRecord>> hardware,
                   std::shared_ptr<const Collection<ModelRecord>> models, v1::CatalogRevision revision,
                   std::shared_ptr<const ShippedCalibrations> calibrations)
    : hardware_(std::move(hardware)),
      models_(std::move(models)),
      revision_(std::move(revision)),
      calibrations_(std::move(calibrations)) {}

absl::StatusOr<const HardwareRecord*> Snapshot::FindHardware(std::string_view id, std::string_view field) const {
  if (const HardwareRecord* found = hardware_->Find(id)) return found;
  return Unknown("hardware", id, field, *hardware_);
}

absl::StatusOr<const ModelRecord*> Snapshot::FindModel(std::string_view id, std::string_view field) const {
  if (const ModelRecord* found = models_->Find(id)) return found;
  return Unknown("model", id, field, *models_);
}

std::shared_ptr<const Snapshot> Snapshot::WithRevision(v1::CatalogRevision revision) const {
  return std::make_shared<Snapshot>(hardware_, models_, std::move(revision), calibrations_);
}

}  // namespace foretoken::catalog
