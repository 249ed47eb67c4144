// Sweeps as lines for programs: CSV and JSON.
#include <google/protobuf/util/json_util.h>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "client/cli/commands/sweep_output.h"
#include "client/cli/text/csv.h"
#include "client/cli/text/enum_text.h"
#include "client/cli/text/format.h"
#include "client/cli/text/json_text.h"
#include "client/status_details.h"

namespace foretoken::cli {
namespace {

// "OUT_OF_MEMORY"; empty for an estimate.
std::string ReasonText(v1::Reason reason) {
  return reason == v1::REASON_UNSPECIFIED ? "" : absl::AsciiStrToUpper(EnumText(reason));
}

std::string ProvenanceOf(v1::Provenance provenance) {
  return provenance == v1::PROVENANCE_UNSPECIFIED ? "" : absl::AsciiStrToUpper(EnumText(provenance));
}

class CsvLines : public SweepOutput {
 public:
  explicit CsvLines(std::ostream& out) : out_(out) {}

  void Header(const v1::SweepHeader& header) override {
    std::vector<std::string> names;
    for (const v1::SweepAxis& axis : header.axes()) names.push_back(axis.field());
    for (int metric : header.metrics()) names.push_back(EnumText(static_cast<v1::Metric>(metric)));
    names.insert(names.end(), {"status", "reason", "provenance"});
    out_ << CsvLine(names);
  }

  void Row(const client::SweepRow& row) override {
    std::vector<std::string> cells;
    for (const client::AxisValue& value : row.coordinates) cells.push_back(AxisText(value));
    for (const double value : row.metrics) cells.push_back(FormatExact(value));
    cells.insert(cells.end(), {CodeText(row.status), ReasonText(row.reason), ProvenanceOf(row.provenance)});
    out_ << CsvLine(cells);
  }

  void Error(const v1::SweepError&) override {}
  void Summary(const v1::SweepSummary&) override {}

 private:
  std::ostream& out_;
};

class JsonLines : public SweepOutput {
 public:
  explicit JsonLines(std::ostream& out) : out_(out) {}

  void Header(const v1::SweepHeader& header) override {
    for (const v1::SweepAxis& axis : header.axes()) fields_.push_back(JsonString(axis.field()));
    for (int metric : header.metrics()) metrics_.push_back(JsonString(EnumText(static_cast<v1::Metric>(metric))));
  }

  void Row(const client::SweepRow& row) override {
    std::string line = absl::StrCat("{\"point\": ", row.point);
    for (size_t i = 0; i < row.coordinates.size(); ++i) {
      const auto* number = std::get_if<double>(&row.coordinates[i]);
      absl::StrAppend(&line, ", ", fields_[i], ": ",
                      number != nullptr ? JsonNumber(*number) : JsonString(AxisText(row.coordinates[i])));
    }
    for (size_t i = 0; i < row.metrics.size() && i < metrics_.size(); ++i) {
      absl::StrAppend(&line, ", ", metrics_[i], ": ", JsonNumber(row.metrics[i]));
    }
    absl::StrAppend(&line, ", \"status\": \"", CodeText(row.status), "\"");
    if (row.status != 0) absl::StrAppend(&line, ", \"reason\": \"", ReasonText(row.reason), "\"");
    if (row.status == 0) absl::StrAppend(&line, ", \"provenance\": \"", ProvenanceOf(row.provenance), "\"");
    out_ << line << "}\n";
  }

  void Error(const v1::SweepError&) override {}

  void Summary(const v1::SweepSummary& summary) override {
    google::protobuf::util::JsonPrintOptions options;
    options.preserve_proto_field_names = true;
    std::string text;
    if (google::protobuf::util::MessageToJsonString(summary, &text, options).ok()) {
      out_ << "{\"summary\": " << text << "}\n";
    }
  }

 private:
  std::ostream& out_;
  std::vector<std::string> fields_;
  std::vector<std::string> metrics_;
};

}  // namespace

std::string AxisText(const client::AxisValue& value) {
  const auto* number = std::get_if<double>(&value);
  return number != nullptr ? FormatExact(*number) : std::get<std::string>(value);
}

std::string CodeText(int code) { return client::CodeName(static_cast<absl::StatusCode>(code)); }

std::unique_ptr<SweepOutput> MakeSweepCsv(std::ostream& out) { return std::make_unique<CsvLines>(out); }
std::unique_ptr<SweepOutput> MakeSweepJson(std::ostream& out) { return std::make_unique<JsonLines>(out); }

std::unique_ptr<SweepOutput> MakeSweepOutput(const Session& session, int max_table_rows) {
  switch (session.output) {
    case OutputFormat::kCsv:
      return MakeSweepCsv(session.out);
    case OutputFormat::kJson:
      return MakeSweepJson(session.out);
    case OutputFormat::kText:
      break;
  }
  return MakeSweepTable(session, max_table_rows);
}

}  // namespace foretoken::cli
