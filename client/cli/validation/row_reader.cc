#include "client/cli/validation/row_reader.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/cli/text/enum_text.h"

namespace foretoken::cli {
namespace {

absl::Status CheckColumns(const std::string& file, const std::vector<std::string>& columns,
                          const std::vector<std::string>& allowed, std::span<const char* const> needed) {
  std::vector<std::string> faults;
  for (const std::string& column : std::set<std::string>(columns.begin(), columns.end())) {
    const auto times = std::count(columns.begin(), columns.end(), column);
    const bool known = std::count(allowed.begin(), allowed.end(), column) > 0;
    if (!known) faults.push_back(absl::StrCat("unknown column \"", column, "\""));
    if (known && times > 1) faults.push_back(absl::StrCat("column \"", column, "\" stands twice"));
  }
  for (const char* column : needed) {
    const bool there = std::count(columns.begin(), columns.end(), column) > 0;
    if (!there) faults.push_back(absl::StrCat("no column \"", column, "\""));
  }
  if (faults.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(file, ":1: ", absl::StrJoin(faults, ", "), "; allowed: ", absl::StrJoin(allowed, ", ")));
}

}  // namespace

absl::StatusOr<CsvRecord> ReadHeader(const std::string& file, const std::vector<std::string>& known,
                                     std::span<const char* const> needed, CsvReader& reader) {
  std::optional<CsvRecord> header = reader.Next();
  if (!header.has_value()) return absl::InvalidArgumentError(absl::StrCat(file, ": is empty; a header line is needed"));
  absl::Status status = CheckQuotes(*header);
  if (!status.ok()) return absl::InvalidArgumentError(absl::StrCat(file, ":1: ", status.message()));
  status = CheckColumns(file, header->cells, known, needed);
  if (!status.ok()) return status;
  return *std::move(header);
}

RowReader::RowReader(const std::vector<std::string>& columns, const std::vector<std::string>& cells) {
  if (cells.size() != columns.size()) {
    Fault(absl::StrCat(cells.size(), " cells; allowed ", columns.size()));
  }
  for (size_t i = 0; i < std::min(columns.size(), cells.size()); ++i) {
    cells_[columns[i]] = std::string(absl::StripAsciiWhitespace(cells[i]));
  }
}

std::string RowReader::Required(const std::string& column) {
  if (Text(column).empty()) Fault(absl::StrCat(column, " is blank"));
  return Text(column);
}

std::optional<int32_t> RowReader::Whole(const std::string& column, int32_t least) {
  const std::string text = Text(column);
  if (text.empty()) return std::nullopt;
  int32_t number;
  if (absl::SimpleAtoi(text, &number) && number >= least) return number;
  Fault(absl::StrCat(column, " \"", text, "\"; allowed: a whole number of at least ", least));
  return std::nullopt;
}

int32_t RowReader::RequiredWhole(const std::string& column, int32_t least) {
  Required(column);
  return Whole(column, least).value_or(least);
}

int32_t RowReader::RequiredCount(const std::string& column, int32_t least) {
  const std::string text = Required(column);
  double number;
  const bool whole = absl::SimpleAtod(text, &number) && number == std::floor(number) && number >= least &&
                     number <= std::numeric_limits<int32_t>::max();
  if (whole) return static_cast<int32_t>(number);
  if (!text.empty()) Fault(absl::StrCat(column, " \"", text, "\"; allowed: a whole number of at least ", least));
  return least;
}

std::optional<double> RowReader::Positive(const std::string& column, const char* unit) {
  const std::string text = Text(column);
  if (text.empty()) return std::nullopt;
  double number;
  if (absl::SimpleAtod(text, &number) && std::isfinite(number) && number > 0) return number;
  Fault(absl::StrCat(column, " \"", text, "\"; allowed: finite ", unit, " above 0"));
  return std::nullopt;
}

double RowReader::RequiredNotNegative(const std::string& column) {
  const std::string text = Required(column);
  double number;
  if (absl::SimpleAtod(text, &number) && std::isfinite(number) && number >= 0) return number;
  if (!text.empty()) Fault(absl::StrCat(column, " \"", text, "\"; allowed: a finite number of at least 0"));
  return 0;
}

std::optional<double> RowReader::Share(const std::string& column) {
  const std::string text = Text(column);
  if (text.empty()) return std::nullopt;
  double number;
  if (absl::SimpleAtod(text, &number) && number > 0 && number <= 1) return number;
  Fault(absl::StrCat(column, " \"", text, "\"; allowed: above 0 to 1"));
  return std::nullopt;
}

int RowReader::Enum(const std::string& column, const google::protobuf::EnumDescriptor& type) {
  const std::string text = Text(column);
  if (text.empty()) return 0;
  const std::optional<int> value = ParseEnum(type, text);
  if (!value.has_value()) Fault(absl::StrCat(column, " \"", text, "\"; allowed: ", EnumChoices(type)));
  return value.value_or(0);
}

absl::Status RowReader::status() const {
  return faults_.empty() ? absl::OkStatus() : absl::InvalidArgumentError(absl::StrJoin(faults_, "; "));
}

std::string EngineOf(RowReader& row) {
  const std::string version = row.Text("engine_version");
  return absl::StrCat(row.Text("engine"), version.empty() ? "" : "@", version);
}

}  // namespace foretoken::cli
