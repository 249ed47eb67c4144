// foretoken get hardware|model|calibration ID: one entry, in the format of the catalog's files.
#include <google/protobuf/text_format.h>

#include <CLI/CLI.hpp>
#include <optional>

#include "absl/strings/str_cat.h"
#include "client/cli/commands/commands.h"
#include "client/cli/entries/entry_kind.h"
#include "client/cli/scenario/message_file.h"
#include "client/cli/text/enum_text.h"
#include "client/cli/text/estimate_text.h"
#include "client/printable.h"

namespace foretoken::cli {
namespace {

struct Options {
  EntryName entry;
  std::optional<int64_t> revision;
};

std::string TextProto(const google::protobuf::Message& message) {
  std::string text;
  google::protobuf::TextFormat::PrintToString(message, &text);
  return text;
}

template <typename Entry>
std::string WriteState(const Entry& entry) {
  return absl::StrCat(", etag ", client::Printable(entry.etag()),
                      entry.shadows_bundled() ? ", hides a bundled entry" : "");
}

// A calibration is written with its hardware only.
std::string WriteState(const v1::CalibrationEntry&) { return ""; }

template <typename Request>
absl::Status SetRevision(int64_t revision, Request& request) {
  request.set_store_revision(revision);
  return absl::OkStatus();
}

absl::Status SetRevision(int64_t revision, v1::GetCalibrationRequest&) {
  return absl::InvalidArgumentError(
      absl::StrCat("--revision ", revision, " of a calibration; allowed with hardware and model"));
}

// Text is a textproto with comments, so that it can be edited and registered again.
template <typename Kind>
absl::StatusOr<ExitCode> Get(const Options& options, const Session& session) {
  auto request = RequestOf(Kind::kGet);
  Kind::SetId(options.entry.id, request);
  if (options.revision) {
    if (absl::Status status = SetRevision(*options.revision, request); !status.ok()) return status;
  }
  const auto response = (session.client.*Kind::kGet)(request);
  if (!response.ok()) return response.status();
  if (session.output == OutputFormat::kJson) {
    session.out << ToJson(*response);
    return kOk;
  }
  const auto& entry = response->entry();
  session.out << absl::StrCat("# ", EnumText(entry.origin()), WriteState(entry), "\n# ",
                              RevisionText(response->catalog_revision()), "\n", TextProto(entry.spec()));
  return kOk;
}

absl::StatusOr<ExitCode> Run(const Options& options, const Session& session) {
  if (absl::Status status = CheckNotCsv(session, "an entry"); !status.ok()) return status;
  return VisitKind<HardwareKind, ModelKind, CalibrationKind>(
      options.entry.kind, [&](auto kind) { return Get<decltype(kind)>(options, session); });
}

}  // namespace

void AddGet(CLI::App& app, Action& chosen) {
  CLI::App* command = app.add_subcommand("get", "One entry of the catalog, as textproto");
  auto options = std::make_shared<Options>();
  AddEntryName<HardwareKind, ModelKind, CalibrationKind>(options->entry, *command);
  command
      ->add_option("--revision", options->revision,
                   "Hardware or model: the entry as it was at this revision of the store")
      ->type_name("N");
  command->callback([options, &chosen] { chosen = [options](const Session& s) { return Run(*options, s); }; });
}

}  // namespace foretoken::cli
