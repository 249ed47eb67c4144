// foretoken delete hardware|model ID: removes a registered entry.
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
  WriteFlags write;
};

template <typename Kind>
absl::StatusOr<ExitCode> Delete(const Options& options, const Session& session) {
  auto request = RequestOf(Kind::kDelete);
  Kind::SetId(options.entry.id, request);
  options.write.Fill(request);
  const auto response = (session.client.*Kind::kDelete)(request);
  if (!response.ok()) return response.status();
  if (session.output == OutputFormat::kJson) {
    session.out << ToJson(*response);
  } else {
    session.out << "deleted " << Kind::kName << " " << client::Printable(options.entry.id) << ", "
                << RevisionText(response->catalog_revision()) << "\n";
  }
  return kOk;
}

absl::StatusOr<ExitCode> Run(const Options& options, const Session& session) {
  if (absl::Status status = CheckNotCsv(session, "a deletion"); !status.ok()) return status;
  return VisitKind<HardwareKind, ModelKind>(options.entry.kind,
                                            [&](auto kind) { return Delete<decltype(kind)>(options, session); });
}

}  // namespace

void AddDelete(CLI::App& app, Action& chosen) {
  CLI::App* command =
      app.add_subcommand("delete", "Removes a registered entry; a bundled entry of the same id becomes visible again");
  auto options = std::make_shared<Options>();
  AddEntryName<HardwareKind, ModelKind>(options->entry, *command);
  options->write.AddTo(*command);
  command->callback([options, &chosen] { chosen = [options](const Session& s) { return Run(*options, s); }; });
}

}  // namespace foretoken::cli
