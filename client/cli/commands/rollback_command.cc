// foretoken rollback hardware|model ID REVISION: restores an earlier revision of an entry.
#include <CLI/CLI.hpp>

#include "client/cli/commands/commands.h"
#include "client/cli/entries/entry_kind.h"
#include "client/cli/scenario/message_file.h"
#include "client/cli/scenario/write_flags.h"
#include "client/cli/text/estimate_text.h"
#include "client/printable.h"

namespace foretoken::cli {
namespace {

struct Options {
  EntryName entry;
  int64_t revision = 0;
  WriteFlags write;
};

template <typename Kind>
absl::StatusOr<ExitCode> Rollback(const Options& options, const Session& session) {
  auto request = RequestOf(Kind::kRollback);
  Kind::SetId(options.entry.id, request);
  request.set_store_revision(options.revision);
  options.write.Fill(request);
  const auto response = (session.client.*Kind::kRollback)(request);
  if (!response.ok()) return response.status();
  if (session.output == OutputFormat::kJson) {
    session.out << ToJson(*response);
    return kOk;
  }
  session.out << Kind::kName << " " << client::Printable(options.entry.id) << " is as at revision " << options.revision;
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
  return VisitKind<HardwareKind, ModelKind>(options.entry.kind,
                                            [&](auto kind) { return Rollback<decltype(kind)>(options, session); });
}

}  // namespace

void AddRollback(CLI::App& app, Action& chosen) {
  CLI::App* command =
      app.add_subcommand("rollback", "Restores an entry as it was at a revision of the store, as a new revision");
  command->footer(
      "`foretoken revisions` lists the revisions. If nothing was registered at that revision, the entry is deleted.");
  auto options = std::make_shared<Options>();
  AddEntryName<HardwareKind, ModelKind>(options->entry, *command);
  command->add_option("REVISION", options->revision, "Revision of the store to go back to")->required();
  options->write.AddTo(*command);
  command->callback([options, &chosen] { chosen = [options](const Session& s) { return Run(*options, s); }; });
}

}  // namespace foretoken::cli
