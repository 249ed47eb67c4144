// foretoken register-hardware FILE: a hardware entry, with or without measured samples.
#include <CLI/CLI.hpp>

#include "client/cli/commands/commands.h"
#include "client/cli/commands/write_flags.h"
#include "client/cli/scenario/message_file.h"
#include "client/cli/text/calibration_text.h"
#include "client/cli/text/csv.h"
#include "client/cli/text/profile_text.h"
#include "client/cli/validation/samples.h"

namespace foretoken::cli {
namespace {

struct Options {
  std::string file;
  std::string samples;
  WriteFlags write;
  bool validate_only = false;
};

absl::StatusOr<v1::RegisterHardwareRequest> BuildRequest(const Options& options, std::istream& in) {
  v1::RegisterHardwareRequest request;
  absl::Status status = ReadMessage(options.file, in, *request.mutable_spec());
  if (!status.ok()) return status;
  if (!options.samples.empty()) {
    const absl::StatusOr<std::vector<Measurement>> rows = ReadRuns(options.samples, in);
    status = rows.ok() ? AddSamples(*rows, request) : rows.status();
    if (!status.ok()) return status;
  }
  options.write.Fill(request);
  request.set_validate_only(options.validate_only);
  return request;
}

absl::StatusOr<ExitCode> Run(const Options& options, const Session& session) {
  const absl::StatusOr<v1::RegisterHardwareRequest> request = BuildRequest(options, session.in);
  if (!request.ok()) return request.status();
  const absl::StatusOr<v1::RegisterHardwareResponse> response = session.client.RegisterHardware(*request);
  if (!response.ok()) return response.status();
  if (session.output == OutputFormat::kJson) {
    session.out << ToJson(*response);
    return kOk;
  }
  if (session.output == OutputFormat::kCsv) {
    session.out << CsvLine({"id", "etag"}) << CsvLine({response->entry().spec().id(), response->entry().etag()});
    return kOk;
  }
  session.out << RegisteredText("hardware", response->entry().spec().id(), response->entry().etag(),
                                options.validate_only, response->catalog_revision());
  if (response->has_report()) session.out << ProfileText(response->report(), session.terminal);
  session.out << CalibrationText(response->calibration_report(), session.terminal);
  return kOk;
}

}  // namespace

void AddRegisterHardware(CLI::App& app, Action& chosen) {
  CLI::App* command =
      app.add_subcommand("register-hardware", "Registers hardware, and what is fitted to its measured runs");
  command->footer(
      "FILE is a foretoken.v1.HardwareSpec, as `foretoken get hardware ID` prints one.\n"
      "Samples give a calibration of the core model per engine, and where all are of one model and deployment\n"
      "a linear profile; the report tells how well they fit. `foretoken fit` does the same for hardware that\n"
      "the catalog has.");
  auto options = std::make_shared<Options>();
  command->add_option("FILE", options->file, "textproto or JSON, - for standard input")->required();
  command->add_option("--samples", options->samples, "Measured runs as CSV (docs/cli.md)")->type_name("FILE.csv");
  options->write.AddTo(*command);
  command->add_flag("--validate-only", options->validate_only, "Run every check and fit, store nothing");
  command->callback([options, &chosen] { chosen = [options](const Session& s) { return Run(*options, s); }; });
}

}  // namespace foretoken::cli
