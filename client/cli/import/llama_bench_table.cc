#include "client/cli/import/llama_bench_table.h"

#include <optional>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace foretoken::cli {
namespace {

using google::protobuf::Struct;

// Columns whose JSON field has another name; "test" and "t/s" are taken apart.
constexpr std::pair<const char*, const char*> kJsonNames[] = {{"model", "model_type"}, {"params", "model_n_params"},
                                                              {"size", "model_size"},  {"backend", "backends"},
                                                              {"ngl", "n_gpu_layers"}, {"threads", "n_threads"}};

struct BenchTable {
  std::vector<std::string> columns;
  std::optional<double> build;
};

std::string JsonNameOf(const std::string& column) {
  for (const auto& [title, name] : kJsonNames) {
    if (column == title) return name;
  }
  return column;
}

std::vector<std::string> CellsOf(absl::string_view line) {
  absl::ConsumePrefix(&line, "|");
  absl::ConsumeSuffix(&line, "|");
  std::vector<std::string> cells;
  for (const absl::string_view cell : absl::StrSplit(line, '|')) {
    cells.emplace_back(absl::StripAsciiWhitespace(cell));
  }
  return cells;
}

bool IsRule(absl::string_view line) { return line.find_first_not_of("|-: ") == absl::string_view::npos; }

void SetNumber(const std::string& name, double number, Struct& fields) {
  (*fields.mutable_fields())[name].set_number_value(number);
}

// "pp512", "tg 128", "pp512+tg128", each with or without " @ d4096".
bool SetTestFields(absl::string_view test, Struct& fields) {
  const std::vector<absl::string_view> depth = absl::StrSplit(test, '@');
  std::vector<absl::string_view> parts = absl::StrSplit(depth[0], '+');
  if (depth.size() > 1) parts.push_back(depth[1]);
  for (absl::string_view part : parts) {
    part = absl::StripAsciiWhitespace(part);
    const char* name = absl::ConsumePrefix(&part, "pp")   ? "n_prompt"
                       : absl::ConsumePrefix(&part, "tg") ? "n_gen"
                       : absl::ConsumePrefix(&part, "d")  ? "n_depth"
                                                          : nullptr;
    int32_t tokens = 0;
    if (name == nullptr || !absl::SimpleAtoi(part, &tokens)) return false;
    SetNumber(name, tokens, fields);
  }
  return true;
}

// "131.42 ± 0.59", or "131.42" alone.
bool SetRate(absl::string_view cell, Struct& fields) {
  double rate = 0;
  const std::vector<absl::string_view> parts = absl::StrSplit(cell, absl::MaxSplits("\u00b1", 1));
  if (!absl::SimpleAtod(absl::StripAsciiWhitespace(parts[0]), &rate)) return false;
  SetNumber("avg_ts", rate, fields);
  return true;
}

void SetCell(const std::string& column, const std::string& cell, Struct& fields) {
  double number = 0;
  const std::string name = JsonNameOf(column);
  if (absl::SimpleAtod(cell, &number)) return SetNumber(name, number, fields);
  (*fields.mutable_fields())[name].set_string_value(cell);
}

absl::Status Wrong(const std::string& file, int line, const std::string& what) {
  return absl::InvalidArgumentError(absl::StrCat(file, ":", line, ": ", what));
}

absl::StatusOr<JsonRecord> RecordOf(const std::string& file, int line, const std::vector<std::string>& columns,
                                    const std::vector<std::string>& cells) {
  if (cells.size() != columns.size()) {
    return Wrong(file, line, absl::StrCat(cells.size(), " cells; allowed ", columns.size()));
  }
  JsonRecord record{.fields = {}, .line = line, .root = "", .text = std::make_shared<const std::string>()};
  for (size_t i = 0; i < cells.size(); ++i) {
    bool good = true;
    if (columns[i] == "test") {
      good = SetTestFields(cells[i], record.fields);
    } else if (columns[i] == "t/s") {
      good = SetRate(cells[i], record.fields);
    } else {
      SetCell(columns[i], cells[i], record.fields);
    }
    if (!good) {
      return Wrong(file, line,
                   absl::StrCat(columns[i], " \"", cells[i], "\"; allowed, for example: ",
                                columns[i] == "test" ? "pp512, tg128, pp512+tg128 @ d4096" : "131.42 \u00b1 0.59"));
    }
  }
  return record;
}

// The number in "build: 8cf427ff (5163)".
std::optional<double> BuildOf(absl::string_view line) {
  double build = 0;
  if (!absl::ConsumePrefix(&line, "build:")) return std::nullopt;
  const size_t from = line.find('(');
  const size_t to = line.find(')');
  if (from == absl::string_view::npos || to == absl::string_view::npos || to < from) return std::nullopt;
  if (!absl::SimpleAtod(line.substr(from + 1, to - from - 1), &build)) return std::nullopt;
  return build;
}

absl::Status ReadLine(const std::string& file, int number, absl::string_view line, BenchTable& table,
                      std::vector<JsonRecord>& records) {
  if (const auto build = BuildOf(line)) table.build = build;
  if (!absl::StartsWith(line, "|") || IsRule(line)) return absl::OkStatus();
  const std::vector<std::string> cells = CellsOf(line);
  if (cells.front() == "model") {
    table.columns = cells;
    return absl::OkStatus();
  }
  if (table.columns.empty()) return Wrong(file, number, "a row before the header \"| model | ... | test | t/s |\"");
  if (records.size() >= kMostRecords)
    return Wrong(file, number, absl::StrCat("allowed: at most ", kMostRecords, " rows"));
  absl::StatusOr<JsonRecord> record = RecordOf(file, number, table.columns, cells);
  if (!record.ok()) return record.status();
  records.push_back(*std::move(record));
  return absl::OkStatus();
}

}  // namespace

bool IsLlamaBenchTable(const std::string& text) {
  const size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string::npos || text[first] == '[' || text[first] == '{') return false;
  return text[first] == '|' || absl::StrContains(text, "\n|");
}

absl::StatusOr<std::vector<JsonRecord>> ReadLlamaBenchTable(const std::string& file, const std::string& text) {
  if (text.size() > kMostImportBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat(file, ": ", text.size(), " bytes; allowed: at most ", kMostImportBytes));
  }
  std::vector<JsonRecord> records;
  BenchTable table;
  int number = 0;
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    ++number;
    if (absl::Status status = ReadLine(file, number, absl::StripAsciiWhitespace(line), table, records); !status.ok()) {
      return status;
    }
  }
  if (records.empty()) return absl::InvalidArgumentError(absl::StrCat(file, ": the table has no row"));
  for (JsonRecord& record : records) {
    if (table.build) SetNumber("build_number", *table.build, record.fields);
  }
  return records;
}

}  // namespace foretoken::cli
