// foretoken import FORMAT FILE...: benchmark files of other tools as a CSV of measurements.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/cli/commands/commands.h"
#include "client/cli/import/import_flags.h"
#include "client/cli/import/import_format.h"
#include "client/cli/import/trace_format.h"
#include "client/cli/scenario/message_file.h"
#include "client/cli/validation/measurement_writer.h"
#include "client/printable.h"
#include "client/status_details.h"

namespace foretoken::cli {
namespace {

struct Options {
  std::string format;
  std::vector<std::string> files;
  std::vector<std::string> ignored;
  std::string out;
  ImportFlags flags;
};

// Asks the server, and says on the error stream which model a name is.
absl::StatusOr<std::string> AskForModel(const std::string& name, const Session& session) {
  v1::GetModelRequest request;
  request.set_model_id(name);
  const absl::StatusOr<v1::GetModelResponse> response = session.client.GetModel(request);
  if (response.ok()) {
    const std::string id = response->entry().spec().id();
    session.err << client::Printable(absl::StrCat("note: the model \"", name, "\" is ", id, "\n"));
    return id;
  }
  if (absl::IsNotFound(response.status())) {
    return absl::InvalidArgumentError(absl::StrCat("the file's model \"", name, "\" is no id or alias of the catalog (",
                                                   client::Describe(response.status()), "); --model ID names it"));
  }
  session.err << client::Printable(
      absl::StrCat("note: the file's model is \"", name, "\"; with --model ID no server is asked\n"));
  return response.status();
}

absl::StatusOr<std::vector<ImportedRun>> ReadFiles(const ImportFormat& format, const Options& options,
                                                   const Session& session, LeftOut& left_out) {
  const std::set<std::string> ignored(options.ignored.begin(), options.ignored.end());
  std::vector<ImportedRun> runs;
  for (const std::string& file : options.files) {
    const absl::StatusOr<std::string> text = ReadText(file, session.in);
    if (!text.ok()) return text.status();
    absl::StatusOr<std::vector<ImportedRun>> read = ReadImport(format, file, *text, ignored, left_out);
    if (!read.ok()) return read.status();
    runs.insert(runs.end(), std::make_move_iterator(read->begin()), std::make_move_iterator(read->end()));
  }
  return runs;
}

// An ignored field that no file has is a slip of the pen.
absl::Status CheckIgnored(const Options& options, const LeftOut& left_out) {
  for (const std::string& name : options.ignored) {
    if (!left_out.ignored.contains(name)) {
      return absl::InvalidArgumentError(absl::StrCat("--ignore-field ", name, "; no file has this field"));
    }
  }
  return absl::OkStatus();
}

absl::Status Write(const std::string& csv, const std::string& file, const Session& session) {
  if (file.empty()) {
    session.out << csv;
    return absl::OkStatus();
  }
  errno = 0;
  std::ofstream stream(file, std::ios::binary | std::ios::trunc);
  stream << csv << std::flush;
  if (stream.good()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("--out: ", file, " cannot be written", errno == 0 ? "" : ": ",
                                                 errno == 0 ? "" : std::strerror(errno)));
}

// The trace of one file, as CSV for `simulate --trace`.
absl::StatusOr<ExitCode> RunTrace(const TraceFormat& format, const Options& options, const Session& session) {
  if (options.files.size() > 1 || options.flags.AnyGiven() || !options.ignored.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(format.name, " has requests without times; allowed: one FILE, --out, and no other flag"));
  }
  const absl::StatusOr<std::string> text = ReadText(options.files[0], session.in);
  if (!text.ok()) return text.status();
  const absl::StatusOr<ImportedTrace> trace = format.read(options.files[0], *text);
  if (!trace.ok()) return trace.status();
  session.err << TraceSummary(*trace);
  if (absl::Status written = Write(TraceCsv(*trace), options.out, session); !written.ok()) return written;
  return kOk;
}

absl::StatusOr<ExitCode> Run(const Options& options, const Session& session) {
  if (session.output == OutputFormat::kJson) {
    return absl::InvalidArgumentError("--output json; allowed: text or csv, because measurements are CSV");
  }
  if (const TraceFormat* trace = FindTraceFormat(options.format)) return RunTrace(*trace, options, session);
  const ImportFormat& format = *FindImportFormat(options.format);  // CLI11 has checked the name
  LeftOut left_out;
  const auto runs = ReadFiles(format, options, session, left_out);
  if (!runs.ok()) return runs.status();
  if (absl::Status status = CheckIgnored(options, left_out); !status.ok()) return status;
  const auto rows = CompleteRuns(*runs, options.flags, format.name,
                                 [&session](const std::string& name) { return AskForModel(name, session); });
  if (!rows.ok()) return rows.status();
  session.err << NoteOfLeftOut(left_out);
  if (rows->empty()) return absl::InvalidArgumentError("no run of the files can be a row");
  if (absl::Status written = Write(MeasurementsCsv(*rows), options.out, session); !written.ok()) return written;
  return kOk;
}

// What is wrong with the name of a format; empty: nothing.
std::string CheckFormat(const std::string& text) {
  const std::vector<std::string> names = ImportNames();
  if (std::find(names.begin(), names.end(), text) != names.end()) return "";
  return absl::StrCat("\"", text, "\"; allowed: ", absl::StrJoin(names, ", "));
}

// A line of help: the name, padded, and whose files they are.
std::string FormatLine(const std::string& name, const char* tool) {
  constexpr size_t kWidth = 22;
  return absl::StrCat("  ", name, std::string(kWidth - std::min(kWidth - 1, name.size()), ' '), tool, "\n");
}

std::string Footer() {
  std::string text = "Formats:\n";
  for (const ImportFormat& format : ImportFormats()) text += FormatLine(format.name, format.tool);
  text += "Formats of traces, which become a CSV for `simulate --trace`:\n";
  for (const TraceFormat& format : TraceFormats()) text += FormatLine(format.name, format.tool);
  return text +
         "\nThe rows are means, as `validate`, `fit` and `register-hardware --samples` read them. What a file does "
         "not\n"
         "say must be given: nothing is guessed. A flag stands for all runs. Fields that go into no column are named "
         "on\n"
         "standard error.";
}

}  // namespace

void AddImport(CLI::App& app, Action& chosen) {
  CLI::App* command = app.add_subcommand("import", "Makes a CSV of measurements from benchmark files of other tools");
  command->footer(Footer());
  auto options = std::make_shared<Options>();
  command->add_option("FORMAT", options->format, "Which tool wrote the files; see below")
      ->required()
      ->check(CheckFormat, "");
  command->add_option("FILE", options->files, "Its files, - for standard input")->required();
  options->flags.AddTo(*command);
  command->add_option("--ignore-field", options->ignored, "Field of the files that is read as absent")
      ->type_name("NAME")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  command->add_option("--out", options->out, "Where the CSV goes; default: standard output")->type_name("FILE.csv");
  command->callback([options, &chosen] { chosen = [options](const Session& s) { return Run(*options, s); }; });
}

}  // namespace foretoken::cli
