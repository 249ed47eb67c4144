#include "tests/estimator/serving/coverage_page.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "estimator/serving/coverage.h"
#include "estimator/serving/coverage_rows.h"

namespace foretoken {
namespace {

constexpr char kStart[] = R"(# Coverage: which method and batching policy answers what

Generated from the table in `estimator/serving/coverage_rows.h`. `CoverageTest.ThePageIsTheTable` compares the two;
`FORETOKEN_UPDATE_DOCS=1` in its environment writes the page anew.

| cell | a scenario that states the feature |
|---|---|
| yes | is answered, and the feature has an effect |
| **refused** | is refused with NOT_MODELLED |
| ignored | has the times of a scenario without the feature, with the warning NOT_USED |
| unused | has the times of a scenario without the feature, without a warning |
| = | has the cell of the operator model under the scenario's batching policy, which may be a refusal |
| - | cannot occur, or the row of another feature decides |

The operator model has a column for each batching policy: static, dynamic, closed loop, open loop, live load, and
disaggregated prefill with batches or with continuous batching. "Output row" is the fast path of a sweep over output
lengths; what that path refuses is computed point by point. Where several features are refused, the reply names the
first in this order. The table leaves out fields that a method requires and specs that a device lacks.

)";

const char* WordOf(Coverage coverage) {
  switch (coverage) {
    case Coverage::kModelled:
      return "yes";
    case Coverage::kRefused:
      return "**refused**";
    case Coverage::kIgnored:
      return "ignored";
    case Coverage::kUnused:
      return "unused";
    case Coverage::kAsOperatorModel:
      return "=";
    case Coverage::kElsewhere:
      return "-";
  }
  return "";  // not reached: the compiler warns of a value without a case
}

std::string Name(auto value) { return std::string(NameOf(value)); }

Feature FeatureAt(int i) { return static_cast<Feature>(i); }
Scope ScopeAt(int i) { return static_cast<Scope>(i); }
constexpr int kFeatures = static_cast<int>(Feature::kEnd);
constexpr int kScopes = static_cast<int>(Scope::kEnd);

std::string Grid() {
  std::string grid = "| feature |";
  for (int i = 0; i < kScopes; ++i) absl::StrAppend(&grid, " ", Name(ScopeAt(i)), " |");
  absl::StrAppend(&grid, "\n|---|");
  for (int i = 0; i < kScopes; ++i) absl::StrAppend(&grid, "---|");
  for (int f = 0; f < kFeatures; ++f) {
    absl::StrAppend(&grid, "\n| ", Name(FeatureAt(f)), " |");
    for (int i = 0; i < kScopes; ++i) {
      absl::StrAppend(&grid, " ", WordOf(CellOf(FeatureAt(f), ScopeAt(i)).coverage), " |");
    }
  }
  return absl::StrCat(grid, "\n");
}

// A text, the columns that say it, and the fields that they name.
struct Said {
  std::string text;
  std::vector<std::string> scopes, fields;
};

void AddOnce(const std::string& value, std::vector<std::string>& values) {
  if (std::find(values.begin(), values.end(), value) == values.end()) values.push_back(value);
}

void AddCell(const CoverageCell& cell, Scope scope, std::vector<Said>& all) {
  if (cell.message.empty()) return;
  const std::string text = absl::StrReplaceAll(cell.message, {{cell.field, "FIELD"}});
  auto said = std::find_if(all.begin(), all.end(), [&](const Said& s) { return s.text == text; });
  if (said == all.end()) said = all.insert(all.end(), {.text = text});
  AddOnce(Name(scope), said->scopes);
  AddOnce(absl::StrCat("`", cell.field, "`"), said->fields);
}

std::string Texts() {
  std::vector<Said> all;
  for (int f = 0; f < kFeatures; ++f) {
    for (int i = 0; i < kScopes; ++i) AddCell(CellOf(FeatureAt(f), ScopeAt(i)), ScopeAt(i), all);
  }
  std::string page = "| text | by | field |\n|---|---|---|\n";
  for (const Said& said : all) {
    absl::StrAppend(&page, "| ", said.text, " | ", absl::StrJoin(said.scopes, ", "), " | ",
                    absl::StrJoin(said.fields, ", "), " |\n");
  }
  return page;
}

}  // namespace

std::string CoverageAsMarkdown() {
  return absl::StrCat(kStart, Grid(), "\n## What refusals and warnings say\n\n", Texts());
}

}  // namespace foretoken
