// foretoken validate FILE.csv...: compares predictions with measurements.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <optional>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "client/cli/commands/commands.h"
#include "client/cli/scenario/message_file.h"
#include "client/cli/terminal/progress.h"
#include "client/cli/text/csv.h"
#include "client/cli/text/enum_text.h"
#include "client/cli/text/format.h"
#include "client/cli/validation/measurements.h"
#include "client/cli/validation/predict.h"
#include "client/cli/validation/validation_baseline.h"
#include "client/printable.h"

namespace foretoken::cli {
namespace {

struct Options {
  std::vector<std::string> files;
  bool rows = false;
  std::string baseline;
  std::string method = "unspecified";
  std::string routing = "unspecified";
};

// All rows of all files, and the count of files that could not be read.
struct Input {
  std::vector<std::string> columns;  // of all files, in order of first appearance
  std::vector<std::vector<std::string>> file_columns;
  std::vector<size_t> file_of_row;
  std::vector<Measurement> rows;
  int bad_files = 0;
};

absl::StatusOr<MeasurementFile> ReadFile(const std::string& file, std::istream& in) {
  const absl::StatusOr<std::string> text = ReadText(file, in);
  if (!text.ok()) return text.status();
  std::istringstream stream(*text);
  return ReadMeasurements(file, stream);
}

void AddFile(const MeasurementFile& file, Input& input) {
  for (const std::string& column : file.columns) {
    const bool there = std::find(input.columns.begin(), input.columns.end(), column) != input.columns.end();
    if (!there) input.columns.push_back(column);
  }
  input.file_columns.push_back(file.columns);
  input.file_of_row.resize(input.rows.size() + file.rows.size(), input.file_columns.size() - 1);
  input.rows.insert(input.rows.end(), file.rows.begin(), file.rows.end());
}

Input ReadAll(const Options& options, const Session& session) {
  Input input;
  for (const std::string& name : options.files) {
    const absl::StatusOr<MeasurementFile> file = ReadFile(name, session.in);
    if (file.ok()) {
      AddFile(*file, input);
      session.err << NoteOfUnused(name, *file);
    } else {
      ++input.bad_files;
      session.err << client::Printable(std::string(file.status().message())) << "\n";
    }
  }
  return input;
}

// Reports every row that cannot be read, is invalid or names an unknown id or engine. Returns whether there was one.
bool ReportFaults(const Input& input, const std::vector<Prediction>& predictions, std::ostream& err) {
  bool any = false;
  for (size_t i = 0; i < input.rows.size(); ++i) {
    const absl::Status& status = predictions[i].status;
    const bool fault = !input.rows[i].status.ok() || absl::IsNotFound(status) || absl::IsInvalidArgument(status);
    if (!fault) continue;
    any = true;
    err << client::Printable(absl::StrCat(Place(input.rows[i]), ": ", status.message())) << "\n";
  }
  return any;
}

// The cells of a row in the columns of all files.
std::vector<std::string> Aligned(const Input& input, size_t row) {
  const std::vector<std::string>& own = input.file_columns[input.file_of_row[row]];
  std::vector<std::string> cells;
  for (const std::string& column : input.columns) {
    const size_t at = std::find(own.begin(), own.end(), column) - own.begin();
    cells.push_back(at < input.rows[row].cells.size() && at < own.size() ? input.rows[row].cells[at] : "");
  }
  return cells;
}

void PrintRows(const Input& input, const std::vector<Prediction>& predictions, std::ostream& out) {
  std::vector<std::string> header = input.columns;
  header.insert(header.end(), PredictionColumns().begin(), PredictionColumns().end());
  out << CsvLine(header);
  for (size_t i = 0; i < input.rows.size(); ++i) {
    std::vector<std::string> cells = Aligned(input, i);
    for (const std::string& cell : PredictionCells(predictions[i])) cells.push_back(cell);
    out << CsvLine(cells);
  }
}

// Nothing if none was requested.
absl::StatusOr<std::optional<Baseline>> ReadBaselineOf(const Options& options, std::istream& in) {
  if (options.baseline.empty()) return std::nullopt;
  const absl::StatusOr<std::string> text = ReadText(options.baseline, in);
  if (!text.ok()) return text.status();
  std::istringstream stream(*text);
  absl::StatusOr<Baseline> baseline = ReadBaseline(options.baseline, stream);
  if (!baseline.ok()) return baseline.status();
  return *std::move(baseline);
}

void PrintReport(const ValidationReport& report, const Options& options, const Session& session) {
  if (options.rows) {
    session.err << ReportText(report, {});
    return;
  }
  switch (session.output) {
    case OutputFormat::kText:
      session.out << ReportText(report, session.terminal);
      break;
    case OutputFormat::kCsv:
      session.out << ReportCsv(report);
      break;
    case OutputFormat::kJson:
      session.out << ReportJson(report);
      break;
  }
}

absl::StatusOr<ExitCode> Run(const Options& options, const Session& session) {
  const auto baseline = ReadBaselineOf(options, session.in);
  if (!baseline.ok()) return baseline.status();
  const Input input = ReadAll(options, session);
  // CLI11 has checked the values.
  const PredictOptions what{
      .method = static_cast<v1::Method>(*ParseEnum(*v1::Method_descriptor(), options.method)),
      .routing = static_cast<v1::ExpertRouting>(*ParseEnum(*v1::ExpertRouting_descriptor(), options.routing))};
  Progress progress(session.err, session.terminal);
  const absl::StatusOr<std::vector<Prediction>> predictions =
      Predict(session.client, input.rows, what, [&](double share) { progress.Update(share, "rows"); });
  progress.Clear();
  if (!predictions.ok()) return predictions.status();
  if (options.rows) PrintRows(input, *predictions, session.out);
  const bool faults = ReportFaults(input, *predictions, session.err);
  const ValidationReport report = MakeReport(input.rows, *predictions);
  PrintReport(report, options, session);
  if (*baseline)
    (session.output == OutputFormat::kText ? session.out : session.err)
        << ComparisonText(**baseline, report, session.terminal);
  return faults || input.bad_files > 0 ? kNo : kOk;
}

}  // namespace

void AddValidate(CLI::App& app, Action& chosen) {
  CLI::App* command =
      app.add_subcommand("validate", "Compares predictions with measurements: errors, bias, coverage of the bands");
  command->footer(
      "Every row is predicted with its own deployment; a static batch that does not fit runs as sequential batches.\n"
      "A row that cannot be read, or whose id is not in the catalog, is reported with its line and skipped.\n"
      "Exit 1: there was such a row or file. Refusals of the server (for example out of memory) are only counted.");
  auto options = std::make_shared<Options>();
  command->add_option("FILE", options->files, "Measurements as CSV (docs/cli.md), - for standard input")->required();
  command->add_flag(
      "--rows", options->rows,
      "Print the rows as CSV with predictions, bands, provenance and status; the report goes to standard error");
  command
      ->add_option(
          "--baseline", options->baseline,
          "Earlier report (--output csv) of the same files to compare with, for example of another catalog revision")
      ->type_name("FILE.csv");
  command->add_option("--method", options->method, "How to estimate; unspecified: the best method available")
      ->check(CLI::IsMember({"unspecified", "operator_model", "speed_of_light", "linear_profile", "kpi"}))
      ->capture_default_str();
  command
      ->add_option("--routing", options->routing,
                   "How experts were chosen in the measurements; unspecified: identical_prompts for static batches, "
                   "which repeat one prompt, independent for continuous batching and for llama.cpp")
      ->check(CLI::IsMember({"unspecified", "independent", "identical_prompts"}))
      ->capture_default_str();
  command->callback([options, &chosen] { chosen = [options](const Session& s) { return Run(*options, s); }; });
}

}  // namespace foretoken::cli
