// foretoken fit FILE.csv: fits the core model to measurements, as a dry run unless --register is given.
#include <CLI/CLI.hpp>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/cli/commands/commands.h"
#include "client/cli/commands/entry_kind.h"
#include "client/cli/commands/write_flags.h"
#include "client/cli/scenario/message_file.h"
#include "client/cli/text/calibration_text.h"
#include "client/cli/text/profile_text.h"
#include "client/cli/validation/samples.h"

namespace foretoken::cli {
namespace {

struct Options {
  std::string file;
  std::string hardware;
  std::string spec;
  std::optional<double> max_median_ape;
  bool store = false;
};

// The requested hardware; without a request, the only one in the file.
absl::StatusOr<std::string> HardwareOf(const std::vector<Measurement>& rows, const std::string& requested) {
  std::set<std::string> ids;
  for (const Measurement& row : rows) ids.insert(row.hardware_id);
  if (requested.empty() && ids.size() == 1) return *ids.begin();
  if (ids.contains(requested)) return requested;
  return absl::InvalidArgumentError(
      absl::StrCat("--hardware \"", requested, "\"; the file has ", absl::StrJoin(ids, ", ")));
}

// The entry that the measurements are added to: from a file, or from the catalog.
absl::Status ReadEntry(const Options& options, const std::string& id, const Session& session,
                       v1::RegisterHardwareRequest& request) {
  if (!options.spec.empty()) {
    request.set_etag("*");
    return ReadMessage(options.spec, session.in, *request.mutable_spec());
  }
  v1::GetHardwareRequest get;
  get.set_hardware_id(id);
  absl::StatusOr<v1::GetHardwareResponse> got = session.client.GetHardware(get);
  if (!got.ok()) return got.status();
  *request.mutable_spec() = std::move(*got->mutable_entry()->mutable_spec());
  request.set_etag(got->entry().etag());
  return absl::OkStatus();
}

absl::StatusOr<v1::RegisterHardwareRequest> BuildRequest(const Options& options, const Session& session) {
  absl::StatusOr<std::vector<Measurement>> rows = ReadRuns(options.file, session);
  if (!rows.ok()) return rows.status();
  const absl::StatusOr<std::string> id = HardwareOf(*rows, options.hardware);
  if (!id.ok()) return id.status();
  std::erase_if(*rows, [&id](const Measurement& row) { return row.hardware_id != *id; });
  v1::RegisterHardwareRequest request;
  absl::Status status = ReadEntry(options, *id, session, request);
  if (status.ok()) status = AddSamples(*rows, request);
  if (!status.ok()) return status;
  if (options.max_median_ape) request.set_max_median_ape(*options.max_median_ape);
  request.set_request_id(WriteFlags::RandomRequestId());
  request.set_validate_only(!options.store);
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
                                  !options.store, response->catalog_revision())
                << CalibrationText(response->calibration_report(), session.terminal);
    if (!options.store) session.out << "\nA dry run; --register stores it.\n";
  }
  return kOk;
}

}  // namespace

void AddFit(CLI::App& app, Action& chosen) {
  CLI::App* command = app.add_subcommand("fit", "Fits the core model to measurements of one hardware");
  command->footer(
      "The measurements of one hardware give one calibration per engine, and one more per model that deviates from\n"
      "the others. Its prior is the calibration of that engine on other hardware. The report shows the errors, also\n"
      "on held-out measurements, the fitted parameters, rejected measurements, and the predictions that change.");
  auto options = std::make_shared<Options>();
  command->add_option("FILE", options->file, "Measurements as CSV (docs/cli.md), - for standard input")->required();
  command->add_option("--hardware", options->hardware, "The hardware to fit, if the file has several")->type_name("ID");
  command->add_option("--spec", options->spec, "Its entry as textproto or JSON; default: from the catalog")
      ->type_name("FILE");
  command
      ->add_option("--max-median-ape", options->max_median_ape,
                   "Fail if the held-out median error of a metric exceeds this share (0.1 = 10%)")
      ->check(CLI::PositiveNumber);
  command->add_flag("--register", options->store, "Store the entry with the calibration; default: a dry run");
  command->callback([options, &chosen] { chosen = [options](const Session& s) { return Run(*options, s); }; });
}

}  // namespace foretoken::cli
