#include "client/cli/validation/validation_baseline.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string_view>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "client/cli/text/csv.h"
#include "client/cli/text/format.h"
#include "client/cli/text/table.h"

namespace foretoken::cli {
namespace {

constexpr double kPoint = 0.01;
constexpr size_t kMostMoves = 20;

// A group's median before and after.
struct Move {
  const GroupKey* group;
  std::string_view metric;
  double before, after;
};

using ColumnPlaces = std::map<std::string, size_t>;  // of each column

absl::StatusOr<ColumnPlaces> ReadHeader(const std::string& file, CsvReader& reader) {
  ColumnPlaces place;
  if (const std::optional<CsvRecord> header = reader.Next()) {
    for (size_t i = 0; i < header->cells.size(); ++i) place[header->cells[i]] = i;
  }
  for (const char* column : {"file", "hardware", "engine", "model", "metric", "median_absolute_error"}) {
    if (place.contains(column)) continue;
    return absl::InvalidArgumentError(
        absl::StrCat(file, ":1: no column ", column, "; allowed: what `foretoken validate --output csv` prints"));
  }
  return place;
}

std::vector<Move> MovesOf(const Baseline& before, const ValidationReport& after) {
  std::vector<Move> moves;
  for (const auto& [key, group] : after.groups) {
    for (size_t m = 0; m < group.errors.size(); ++m) {
      const auto found = before.find({key, kMetricNames[m]});
      if (found == before.end() || group.errors[m].rows == 0) continue;
      moves.push_back({&key, kMetricNames[m], found->second, group.errors[m].median_absolute});
    }
  }
  return moves;
}

std::string MeansText(const std::vector<Move>& moves, const Terminal& terminal) {
  Table table({{"metric"}, {"groups", Align::kRight}, {"before", Align::kRight}, {"after", Align::kRight}});
  for (const std::string_view metric : kMetricNames) {
    double before = 0, after = 0;
    int groups = 0;
    for (const Move& move : moves) {
      if (move.metric != metric) continue;
      before += move.before;
      after += move.after;
      ++groups;
    }
    if (groups > 0)
      table.AddRow(
          {std::string(metric), absl::StrCat(groups), FormatPercent(before / groups), FormatPercent(after / groups)});
  }
  return table.Render(terminal, 2);
}

}  // namespace

absl::StatusOr<Baseline> ReadBaseline(const std::string& file, std::istream& in) {
  CsvReader reader(in);
  const absl::StatusOr<ColumnPlaces> place = ReadHeader(file, reader);
  if (!place.ok()) return place.status();
  Baseline baseline;
  while (const std::optional<CsvRecord> record = reader.Next()) {
    if (absl::Status quotes = CheckQuotes(*record); !quotes.ok()) {
      return absl::InvalidArgumentError(absl::StrCat(file, ":", record->line, ": ", quotes.message()));
    }
    const auto cell = [&](const char* column) {
      const size_t i = place->at(column);
      return i < record->cells.size() ? record->cells[i] : std::string();
    };
    if (cell("median_absolute_error").empty()) continue;  // nothing was scored
    double median = 0;
    if (!absl::SimpleAtod(cell("median_absolute_error"), &median) || !std::isfinite(median)) {
      return absl::InvalidArgumentError(absl::StrCat(file, ":", record->line, ": median_absolute_error \"",
                                                     cell("median_absolute_error"), "\"; allowed: a finite number"));
    }
    baseline[{{cell("file"), cell("hardware"), cell("engine"), cell("model")}, cell("metric")}] = median;
  }
  return baseline;
}

std::string ComparisonText(const Baseline& before, const ValidationReport& after, const Terminal& terminal) {
  std::vector<Move> moves = MovesOf(before, after);
  std::string text =
      absl::StrCat(terminal.Paint("Against the baseline", Look::kBold), ": median error\n", MeansText(moves, terminal));
  std::erase_if(moves, [](const Move& move) { return std::abs(move.after - move.before) <= kPoint; });
  std::stable_sort(moves.begin(), moves.end(), [](const Move& a, const Move& b) {
    return std::abs(a.after - a.before) > std::abs(b.after - b.before);
  });
  absl::StrAppend(&text, "\n", moves.size(), " medians of groups moved by more than a point\n");
  moves.resize(std::min(moves.size(), kMostMoves));
  Table table({{"hardware"}, {"engine"}, {"model"}, {"metric"}, {"before", Align::kRight}, {"after", Align::kRight}});
  for (const Move& move : moves) {
    table.AddRow({move.group->hardware, move.group->engine, move.group->model, std::string(move.metric),
                  FormatPercent(move.before),
                  Cell(FormatPercent(move.after), move.after > move.before ? Look::kBad : Look::kGood)});
  }
  return table.empty() ? text : text + table.Render(terminal, 2);
}

}  // namespace foretoken::cli
