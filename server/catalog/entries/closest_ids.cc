#include "server/catalog/entries/closest_ids.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

namespace foretoken::catalog {
namespace {

constexpr size_t kSuggestions = 3;
constexpr size_t kFarthestSlip = 2;  // characters

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
std::string SortedWords(std::string_view id) {
  std::vector<absl::string_view> words = absl::StrSplit(absl::string_view(id.data(), id.size()), '-');
  std::sort(words.begin(), words.end());
  return absl::StrJoin(words, "-");
}

// How far a known id is from what was asked, its words in any order; an id that contains it is near however much longer
// it is.
int Distance(const std::string& asked, const std::string& asked_words, std::string_view known) {
  const int edits = EditDistance(asked, known);
  const bool contains = !asked.empty() && known.find(asked) != known.npos;
  return contains ? edits / 8 : std::min(edits, 1 + EditDistance(asked_words, SortedWords(known)));
}

using Near = std::vector<std::pair<int, std::string_view>>;  // distance and id

// The characters in which two texts differ, the beginning and the end that they share left out. Far cheaper than the
// edit distance, because there are many aliases.
size_t Slip(std::string_view a, std::string_view b) {
  const size_t shorter = std::min(a.size(), b.size());
  size_t first = 0;
  while (first < shorter && a[first] == b[first]) ++first;
  size_t last = 0;
  while (last < shorter - first && a[a.size() - 1 - last] == b[b.size() - 1 - last]) ++last;
  return std::max(a.size(), b.size()) - first - last;
}

void AddAliases(std::string_view asked, const std::vector<KnownAlias>& aliases, Near& near) {
  std::string name(asked);
  absl::AsciiStrToLower(&name);
  const size_t farthest = std::min(kFarthestSlip, name.size() / 2);
  for (const auto& [alias, id] : aliases) {
    const size_t slip = Slip(name, alias);
    if (slip <= farthest) near.emplace_back(static_cast<int>(slip), id);
  }
}

// The nearest ids, each once.
std::vector<std::string> Nearest(Near near) {
  std::sort(near.begin(), near.end());
  std::vector<std::string> ids;
  for (const auto& [distance, id] : near) {
    if (ids.size() < kSuggestions && std::find(ids.begin(), ids.end(), id) == ids.end()) ids.emplace_back(id);
  }
  return ids;
}

}  // namespace

std::vector<std::string> ClosestIds(std::string_view asked, const std::vector<std::string_view>& known,
                                    const std::vector<KnownAlias>& aliases) {
  const std::string id = AsId(asked);
  const std::string words = SortedWords(id);
  Near near;
  bool is_part = false;
  for (const std::string_view candidate : known) {
    const int distance = Distance(id, words, candidate);
    if (distance <= FarthestSuggestion(id)) near.emplace_back(distance, candidate);
    is_part = is_part || (!id.empty() && candidate.find(id) != candidate.npos);
  }
  if (!is_part) AddAliases(asked, aliases, near);  // "h100" is part of ids, and no slip of "b100"
  return Nearest(std::move(near));
}

std::string DidYouMean(std::string_view asked, const std::vector<std::string_view>& known,
                       const std::vector<KnownAlias>& aliases) {
  const std::vector<std::string> closest = ClosestIds(asked, known, aliases);
  return closest.empty() ? "" : absl::StrCat("; did you mean ", absl::StrJoin(closest, ", "), "?");
}

}  // namespace foretoken::catalog
