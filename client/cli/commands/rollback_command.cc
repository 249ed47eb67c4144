// foretoken rollback hardware|model ID REVISION: an entry as it was, as a new revision.
#include <CLI/CLI.hpp>

#include "client/cli/commands/commands.h"
#include "client/cli/commands/write_flags.h"
#include "client/cli/scenario/message_file.h"
#include "client/cli/text/estimate_text.h"
#include "client/printable.h"

namespace foretoken::cli {
namespace {

struct Options {
  std::string kind;
  std::string id;
  int64_t revision = 0;
  WriteFlags write;
};

template <typename Response>
absl::StatusOr<ExitCode> Print(const absl::StatusOr<Response>& response, const Options& options,
                               const Session& session) {
  if (!response.ok()) return response.status();
  if (session.output == OutputFormat::kJson) {
    session.out << ToJson(*response);
    return kOk;
  }
  session.out << options.kind << " " << options.id << " is as at revision " << options.revision;
  if (response->has_entry()) {
    session.out << ", etag " << client::Printable(response->entry().etag());
  } else {
    session.out << ": not registered";
  }
  session.out << ", " << RevisionText(response->catalog_revision()) << "\n";
  return kOk;
}

absl::StatusOr<ExitCode> Run(const Options& options, const Session& session) {
  if (absl::Status status = CheckNotCsv(session, "a rollback"); !status.ok()) return status;
  if (options.kind == "hardware") {
    v1::RollbackHardwareRequest request;
    request.set_hardware_id(options.id);
    request.set_store_revision(options.revision);
    options.write.Fill(request);
    return Print(session.client.RollbackHardware(request), options, session);
  }
  v1::RollbackModelRequest request;
  request.set_model_id(options.id);
  request.set_store_revision(options.revision);
  options.write.Fill(request);
  return Print(session.client.RollbackModel(request), options, session);
}

}  // namespace

void AddRollback(CLI::App& app, Action& chosen) {
  CLI::App* command = app.add_subcommand("rollback", "Writes an entry as it was at a revision of the store");
  command->footer("foretoken revisions tells the revisions. Where nothing was registered then, the entry is deleted.");
  auto options = std::make_shared<Options>();
  command->add_option("KIND", options->kind, "hardware or model")
      ->required()
      ->check(CLI::IsMember({"hardware", "model"}));
  command->add_option("ID", options->id, "Catalog id")->required();
  command->add_option("REVISION", options->revision, "Revision of the store to go back to")->required();
  options->write.AddTo(*command);
  command->callback([options, &chosen] { chosen = [options](const Session& s) { return Run(*options, s); }; });
}

}  // namespace foretoken::cli
