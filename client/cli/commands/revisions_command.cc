// foretoken revisions hardware|model ID: the history of an entry.
#include <CLI/CLI.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/cli/commands/commands.h"
#include "client/cli/entries/entry_kind.h"
#include "client/cli/scenario/message_file.h"
#include "client/cli/text/csv.h"
#include "client/cli/text/enum_text.h"
#include "client/cli/text/estimate_text.h"
#include "client/cli/text/table.h"

namespace foretoken::cli {
namespace {

std::vector<std::string> Cells(const v1::EntryRevision& revision) {
  return {absl::StrCat(revision.store_revision()),
          TimeText(revision.write_time()),
          EnumText(revision.action()),
          revision.author(),
          revision.peer(),
          revision.etag(),
          absl::StrJoin(revision.changed_fields(), " ")};
}

const std::vector<std::string>& Names() {
  static const auto& names =
      *new std::vector<std::string>{"revision", "time", "action", "author", "peer", "etag", "changed"};
  return names;
}

void PrintTable(const v1::ListRevisionsResponse& response, const Session& session) {
  std::vector<Column> columns;
  for (const std::string& name : Names()) columns.push_back({name});
  columns[0].align = Align::kRight;
  Table table(std::move(columns));
  for (const v1::EntryRevision& revision : response.revisions()) {
    const std::vector<std::string> cells = Cells(revision);
    table.AddRow({cells.begin(), cells.end()});
  }
  session.out << table.Render(session.terminal);
}

absl::StatusOr<ExitCode> Run(const EntryName& entry, const Session& session) {
  v1::ListRevisionsRequest request;
  VisitKind<HardwareKind, ModelKind>(entry.kind, [&](auto kind) { kind.SetId(entry.id, request); });
  request.set_page_size(1000);  // more than a store keeps
  const auto response = session.client.ListRevisions(request);
  if (!response.ok()) return response.status();
  if (session.output == OutputFormat::kJson) {
    session.out << ToJson(*response);
  } else if (session.output == OutputFormat::kCsv) {
    session.out << CsvLine(Names());
    for (const v1::EntryRevision& revision : response->revisions()) session.out << CsvLine(Cells(revision));
  } else {
    PrintTable(*response, session);
  }
  return kOk;
}

}  // namespace

void AddRevisions(CLI::App& app, Action& chosen) {
  CLI::App* command = app.add_subcommand("revisions", "The history of an entry: who changed what, and when");
  auto entry = std::make_shared<EntryName>();
  AddEntryName<HardwareKind, ModelKind>(*entry, *command);
  command->callback([entry, &chosen] { chosen = [entry](const Session& s) { return Run(*entry, s); }; });
}

}  // namespace foretoken::cli
