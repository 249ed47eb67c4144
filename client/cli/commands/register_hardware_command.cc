// foretoken register-hardware FILE: a hardware entry, with or without measurements.
#include <CLI/CLI.hpp>

#include "client/cli/commands/commands.h"
#include "client/cli/entries/entry_kind.h"
#include "client/cli/entries/registration.h"
#include "client/cli/text/calibration_text.h"
#include "client/cli/validation/samples.h"

namespace foretoken::cli {
namespace {

struct Options {
  std::string file;
  std::string samples;
  std::string kernels;
  std::optional<double> max_median_ape;
  RegistrationFlags flags;
};

absl::StatusOr<v1::RegisterHardwareRequest> BuildRequest(const Options& options, const Session& session) {
  v1::RegisterHardwareRequest request;
  absl::Status status = ReadMessage(options.file, session.in, *request.mutable_spec());
  if (!status.ok()) return status;
  if (!options.samples.empty()) {
    const absl::StatusOr<std::vector<Measurement>> rows = ReadRuns(options.samples, session);
    status = rows.ok() ? AddSamples(*rows, request) : rows.status();
    if (!status.ok()) return status;
  }
  const absl::StatusOr<std::vector<KernelRow>> kernels = ReadKernels(options.kernels, session);
  status = kernels.ok() ? AddKernels(*kernels, request) : kernels.status();
  if (!status.ok()) return status;
  if (options.max_median_ape) request.set_max_median_ape(*options.max_median_ape);
  options.flags.Fill(request);
  return request;
}

absl::StatusOr<ExitCode> Run(const Options& options, const Session& session) {
  const absl::StatusOr<v1::RegisterHardwareRequest> request = BuildRequest(options, session);
  if (!request.ok()) return request.status();
  const absl::StatusOr<v1::RegisterHardwareResponse> response = session.client.RegisterHardware(*request);
  if (!response.ok()) return response.status();
  PrintRegistered<HardwareKind>(*response, options.flags.validate_only, session);
  if (session.output != OutputFormat::kText) return kOk;
  if (response->has_report()) session.out << ProfileText(response->report(), session.terminal);
  session.out << CalibrationText(response->calibration_report(), session.terminal);
  return kOk;
}

}  // namespace

void AddRegisterHardware(CLI::App& app, Action& chosen) {
  CLI::App* command =
      app.add_subcommand("register-hardware", "Registers hardware, with fits to its measurements if there are any");
  command->footer(
      "FILE is a foretoken.v1.HardwareSpec, as `foretoken get hardware ID` prints one.\n"
      "Measurements give one calibration of the core model per engine. If all are of one model and deployment,\n"
      "they also give a linear profile. Kernels timed alone give the constants of their operators, before any model\n"
      "runs on the hardware. The report shows how well all of them fit. For hardware of the catalog use\n"
      "`foretoken fit`.");
  auto options = std::make_shared<Options>();
  command->add_option("FILE", options->file, "textproto or JSON, - for standard input")->required();
  command->add_option("--samples", options->samples, "Measurements as CSV (docs/cli.md)")->type_name("FILE.csv");
  command->add_option("--kernels", options->kernels, "Kernels timed alone as CSV (docs/cli.md)")->type_name("FILE.csv");
  AddGate(*command, options->max_median_ape);
  options->flags.AddTo(*command);
  command->callback([options, &chosen] { chosen = [options](const Session& s) { return Run(*options, s); }; });
}

}  // namespace foretoken::cli
