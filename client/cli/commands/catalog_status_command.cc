// foretoken catalog-status: whether the server's catalog is up to date with its store.
#include <CLI/CLI.hpp>

#include "absl/strings/str_cat.h"
#include "client/cli/commands/commands.h"
#include "client/cli/scenario/message_file.h"
#include "client/cli/text/estimate_text.h"
#include "client/cli/text/format.h"
#include "client/printable.h"

namespace foretoken::cli {
namespace {

std::string Text(const v1::GetCatalogStatusResponse& status) {
  std::string text = absl::StrCat(RevisionText(status.catalog_revision()), "\n", status.store_kind(),
                                  " store, agreed with ", FormatSeconds(status.age_seconds()), " ago\n");
  if (!status.last_error().empty()) {
    absl::StrAppend(&text, "last error at ", TimeText(status.last_error_time()), ": ", status.last_error(), "\n");
  }
  for (const v1::SkippedEntry& entry : status.skipped_entries()) {
    absl::StrAppend(&text, "skipped ", entry.name(), " of revision ", entry.store_revision(), ": ", entry.reason(),
                    "\n");
  }
  return client::Printable(text);
}

absl::StatusOr<ExitCode> Run(const Session& session) {
  if (absl::Status status = CheckNotCsv(session, "a status"); !status.ok()) return status;
  const auto status = session.client.GetCatalogStatus({});
  if (!status.ok()) return status.status();
  session.out << (session.output == OutputFormat::kJson ? ToJson(*status) : Text(*status));
  return status->catalog_revision().has_stale_since() ? kNo : kOk;
}

}  // namespace

void AddCatalogStatus(CLI::App& app, Action& chosen) {
  CLI::App* command =
      app.add_subcommand("catalog-status", "Whether the catalog is up to date with its store: exit 1 if it is stale");
  command->callback([&chosen] { chosen = [](const Session& s) { return Run(s); }; });
}

}  // namespace foretoken::cli
