// foretoken delete hardware|model ID: removes a registered entry.
#include <CLI/CLI.hpp>

#include "client/cli/commands/commands.h"
#include "client/cli/commands/write_flags.h"
#include "client/cli/scenario/message_file.h"
#include "client/cli/text/estimate_text.h"

namespace foretoken::cli {
namespace {

struct Options {
  std::string kind;
  std::string id;
  WriteFlags write;
};

template <typename Response>
absl::StatusOr<ExitCode> Print(const absl::StatusOr<Response>& response, const Options& options,
                               const Session& session) {
  if (!response.ok()) return response.status();
  if (session.output == OutputFormat::kJson) {
    session.out << ToJson(*response);
  } else {
    session.out << "deleted " << options.kind << " " << options.id << ", " << RevisionText(response->catalog_revision())
                << "\n";
  }
  return kOk;
}

absl::StatusOr<ExitCode> Run(const Options& options, const Session& session) {
  if (absl::Status status = CheckNotCsv(session, "a deletion"); !status.ok()) return status;
  if (options.kind == "hardware") {
    v1::DeleteHardwareRequest request;
    request.set_hardware_id(options.id);
    options.write.Fill(request);
    return Print(session.client.DeleteHardware(request), options, session);
  }
  v1::DeleteModelRequest request;
  request.set_model_id(options.id);
  options.write.Fill(request);
  return Print(session.client.DeleteModel(request), options, session);
}

}  // namespace

void AddDelete(CLI::App& app, Action& chosen) {
  CLI::App* command =
      app.add_subcommand("delete", "Removes a registered entry; a bundled one of the same id shows again");
  auto options = std::make_shared<Options>();
  command->add_option("KIND", options->kind, "hardware or model")
      ->required()
      ->check(CLI::IsMember({"hardware", "model"}));
  command->add_option("ID", options->id, "Catalog id")->required();
  options->write.AddTo(*command);
  command->callback([options, &chosen] { chosen = [options](const Session& s) { return Run(*options, s); }; });
}

}  // namespace foretoken::cli
