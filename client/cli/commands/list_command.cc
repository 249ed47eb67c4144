// foretoken list hardware|models|calibrations [TEXT]: what the catalog holds.
#include <CLI/CLI.hpp>

#include "client/cli/commands/commands.h"
#include "client/cli/entries/entry_kind.h"
#include "client/cli/scenario/message_file.h"
#include "client/cli/text/catalog_columns.h"
#include "client/cli/text/csv.h"
#include "client/cli/text/table.h"
#include "client/printable.h"

namespace foretoken::cli {
namespace {

constexpr int kPageSize = 1000;

struct Options {
  std::string kind;
  std::string text;
  bool ids = false;
  bool names = false;
};

// All pages of a list as one response.
template <typename Response, typename Request>
absl::StatusOr<Response> AllPages(const client::Client& client, const std::string& text,
                                  absl::StatusOr<Response> (client::Client::*list)(const Request&) const) {
  Request request;
  request.set_id_contains(text);
  request.set_page_size(kPageSize);
  Response all;
  do {
    const absl::StatusOr<Response> page = (client.*list)(request);
    if (!page.ok()) return page.status();
    all.MergeFrom(*page);
    all.set_next_page_token(page->next_page_token());
    request.set_page_token(page->next_page_token());
  } while (!all.next_page_token().empty());
  return all;
}

template <typename Entry>
void PrintCsv(const google::protobuf::RepeatedPtrField<Entry>& entries, std::ostream& out) {
  std::vector<std::string> names;
  for (const EntryColumn& column : EntryColumns(Entry())) names.push_back(column.name);
  out << CsvLine(names);
  for (const Entry& entry : entries) {
    std::vector<std::string> cells;
    for (const EntryColumn& column : EntryColumns(entry)) cells.push_back(column.exact);
    out << CsvLine(cells);
  }
}

template <typename Entry>
void PrintTable(const google::protobuf::RepeatedPtrField<Entry>& entries, const Session& session) {
  std::vector<Column> columns;
  for (const EntryColumn& column : EntryColumns(Entry())) columns.push_back(column.column);
  Table table(std::move(columns));
  for (const Entry& entry : entries) {
    std::vector<Cell> cells;
    for (const EntryColumn& column : EntryColumns(entry)) cells.emplace_back(column.text);
    table.AddRow(std::move(cells));
  }
  if (!table.empty()) session.out << table.Render(session.terminal);
}

void PrintAliases(const google::protobuf::RepeatedPtrField<std::string>& aliases, std::ostream& out) {
  for (const std::string& alias : aliases) out << client::Printable(alias) << "\n";
}
void PrintAliasesOf(const v1::HardwareSpec& spec, std::ostream& out) { PrintAliases(spec.aliases(), out); }
void PrintAliasesOf(const v1::ModelSpec& spec, std::ostream& out) { PrintAliases(spec.aliases(), out); }
void PrintAliasesOf(const v1::CalibrationSpec&, std::ostream&) {}  // has none

template <typename Kind>
absl::StatusOr<ExitCode> List(const Options& options, const Session& session) {
  const auto response = AllPages(session.client, options.text, Kind::kList);
  if (!response.ok()) return response.status();
  const auto& entries = response->entries();
  if (options.ids || options.names) {
    for (const auto& entry : entries) {
      session.out << client::Printable(entry.spec().id()) << "\n";
      if (options.names) PrintAliasesOf(entry.spec(), session.out);
    }
  } else if (session.output == OutputFormat::kJson) {
    session.out << ToJson(*response);
  } else if (session.output == OutputFormat::kCsv) {
    PrintCsv(entries, session.out);
  } else {
    PrintTable(entries, session);
  }
  return entries.empty() ? kNo : kOk;
}

absl::StatusOr<ExitCode> Run(const Options& options, const Session& session) {
  return VisitKind<HardwareKind, ModelKind, CalibrationKind>(
      options.kind, [&](auto kind) { return List<decltype(kind)>(options, session); });
}

}  // namespace

void AddList(CLI::App& app, Action& chosen) {
  CLI::App* command = app.add_subcommand("list", "Hardware, models or calibrations of the catalog");
  command->footer("Exit 1: no entry matches.");
  auto options = std::make_shared<Options>();
  AddKind({HardwareKind::kPlural, ModelKind::kPlural, CalibrationKind::kPlural}, options->kind, *command);
  command->add_option("TEXT", options->text, "Only ids that contain this text");
  command->add_flag("--ids", options->ids, "Ids alone, one per line");
  command->add_flag("--names", options->names, "Ids, each with its aliases below it, one per line");
  command->callback([options, &chosen] { chosen = [options](const Session& s) { return Run(*options, s); }; });
}

}  // namespace foretoken::cli
