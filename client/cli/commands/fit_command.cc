// foretoken fit [FILE.csv] [--kernels FILE.csv]: fits the core model to measurements, as a dry run unless --register is
// given.
#include <CLI/CLI.hpp>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/cli/commands/commands.h"
#include "client/cli/entries/entry_kind.h"
#include "client/cli/entries/fit_rows.h"
#include "client/cli/entries/registration.h"
#include "client/cli/text/calibration_text.h"
#include "client/cli/text/profile_text.h"
#include "client/cli/validation/samples.h"
#include "client/printable.h"

namespace foretoken::cli {
namespace {

struct Options {
  std::string file;     // empty: no runs
  std::string kernels;  // empty: none
  std::string hardware;
  FitOptions fit;
};

// What was measured: runs, kernels or both.
struct Files {
  std::vector<Measurement> runs;
  std::vector<KernelRow> kernels;
};

absl::StatusOr<Files> ReadFiles(const Options& options, const Session& session) {
  if (options.file.empty() && options.kernels.empty()) {
    return absl::InvalidArgumentError("no measurements; allowed: FILE, --kernels FILE.csv, or both");
  }
  Files files;
  if (!options.file.empty()) {
    absl::StatusOr<std::vector<Measurement>> runs = ReadRuns(options.file, session);
    if (!runs.ok()) return runs.status();
    files.runs = *std::move(runs);
  }
  absl::StatusOr<std::vector<KernelRow>> kernels = ReadKernels(options.kernels, session);
  if (!kernels.ok()) return kernels.status();
  files.kernels = *std::move(kernels);
  return files;
}

// The requested hardware; without a request, the only one that the files have.
absl::StatusOr<std::string> HardwareOf(const Files& files, const std::string& requested) {
  std::set<std::string> ids;
  for (const Measurement& row : files.runs) ids.insert(row.hardware_id);
  for (const KernelRow& row : files.kernels) ids.insert(row.hardware_id);
  if (requested.empty() && ids.size() == 1) return *ids.begin();
  if (ids.contains(requested)) return requested;
  const char* have = files.runs.empty() || files.kernels.empty() ? "the file has " : "the files have ";
  return absl::InvalidArgumentError(absl::StrCat("--hardware \"", requested, "\"; ", have, absl::StrJoin(ids, ", ")));
}

// Drops the rows of other hardware, and says on the error stream how many and of which. Errors: none is left of them.
template <typename Row>
absl::Status KeepOnly(const std::string& id, const Session& session, std::vector<Row>& rows) {
  if (rows.empty()) return absl::OkStatus();
  const std::string file = rows.front().file;
  std::set<std::string> others;
  const size_t dropped = std::erase_if(rows, [&](const Row& row) {
    if (row.hardware_id == id) return false;
    others.insert(row.hardware_id);
    return true;
  });
  const std::string of_others = absl::StrCat(dropped, " rows of other hardware: ", absl::StrJoin(others, ", "));
  if (rows.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(file, ": no row of hardware \"", id, "\"; it has ", of_others));
  }
  if (dropped > 0) session.err << client::Printable(absl::StrCat("note: ", file, ": left out ", of_others, "\n"));
  return absl::OkStatus();
}

absl::StatusOr<v1::RegisterHardwareRequest> BuildRequest(const Options& options, const Session& session) {
  absl::StatusOr<Files> files = ReadFiles(options, session);
  if (!files.ok()) return files.status();
  const absl::StatusOr<std::string> id = HardwareOf(*files, options.hardware);
  if (!id.ok()) return id.status();
  absl::Status status = KeepOnly(*id, session, files->runs);
  if (status.ok()) status = KeepOnly(*id, session, files->kernels);
  v1::RegisterHardwareRequest request;
  if (status.ok()) status = ReadEntry(options.fit.spec, *id, session, request);
  if (status.ok()) status = AddSamples(files->runs, request);
  if (status.ok()) status = AddKernels(files->kernels, request);
  if (!status.ok()) return status;
  options.fit.Fill(request);
  return request;
}

absl::StatusOr<ExitCode> Run(const Options& options, const Session& session) {
  const absl::StatusOr<v1::RegisterHardwareRequest> request = BuildRequest(options, session);
  if (!request.ok()) return request.status();
  const absl::StatusOr<v1::RegisterHardwareResponse> response = session.client.RegisterHardware(*request);
  if (!response.ok()) return response.status();
  if (session.output == OutputFormat::kJson) {
    session.out << ToJson(*response);
  } else if (session.output == OutputFormat::kCsv) {
    session.out << CalibrationCsv(response->calibration_report());
  } else {
    session.out << RegisteredText(HardwareKind::kName, response->entry().spec().id(), response->entry().etag(),
                                  !options.fit.store, response->catalog_revision())
                << CalibrationText(response->calibration_report(), session.terminal);
    if (!options.fit.store) session.out << "\nA dry run; --register stores it.\n";
  }
  return kOk;
}

}  // namespace

void AddFit(CLI::App& app, Action& chosen) {
  CLI::App* command = app.add_subcommand("fit", "Fits the core model to measurements of one hardware");
  command->footer(
      "The measurements of one hardware give one calibration per engine, and one more per model that deviates from\n"
      "the others. Its prior is the calibration of that engine on other hardware. The report shows the errors, also\n"
      "on held-out measurements, the fitted parameters, rejected measurements, and the predictions that change.\n"
      "Kernels timed alone decide the constants of their operators; runs of the same engine under continuous\n"
      "batching decide the rest. Rows of other hardware are left out.");
  auto options = std::make_shared<Options>();
  command->add_option("FILE", options->file, "Measurements as CSV (docs/cli.md), - for standard input");
  command->add_option("--kernels", options->kernels, "Kernels timed alone as CSV (docs/cli.md)")->type_name("FILE.csv");
  command->add_option("--hardware", options->hardware, "The hardware to fit, if files have several")->type_name("ID");
  AddFitFlags(*command, options->fit);
  command->callback([options, &chosen] { chosen = [options](const Session& s) { return Run(*options, s); }; });
}

}  // namespace foretoken::cli
