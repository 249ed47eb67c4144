// foretoken get hardware|model|calibration ID: one entry, as the files of the catalog are written.
#include <google/protobuf/text_format.h>

#include <CLI/CLI.hpp>
#include <optional>

#include "absl/strings/str_cat.h"
#include "client/cli/commands/commands.h"
#include "client/cli/scenario/message_file.h"
#include "client/cli/text/enum_text.h"
#include "client/cli/text/estimate_text.h"
#include "client/printable.h"

namespace foretoken::cli {
namespace {

struct Options {
  std::string kind;
  std::string id;
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

// Text is a textproto with comments, so that it can be edited and registered again.
template <typename Response>
absl::StatusOr<ExitCode> Print(const absl::StatusOr<Response>& response, const Session& session) {
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
  if (options.kind == "hardware") {
    v1::GetHardwareRequest request;
    request.set_hardware_id(options.id);
    if (options.revision) request.set_store_revision(*options.revision);
    return Print(session.client.GetHardware(request), session);
  }
  if (options.kind == "calibration") {
    v1::GetCalibrationRequest request;
    request.set_calibration_id(options.id);
    return Print(session.client.GetCalibration(request), session);
  }
  v1::GetModelRequest request;
  request.set_model_id(options.id);
  if (options.revision) request.set_store_revision(*options.revision);
  return Print(session.client.GetModel(request), session);
}

}  // namespace

void AddGet(CLI::App& app, Action& chosen) {
  CLI::App* command = app.add_subcommand("get", "One entry of the catalog, as textproto");
  auto options = std::make_shared<Options>();
  command->add_option("KIND", options->kind, "hardware, model or calibration")
      ->required()
      ->check(CLI::IsMember({"hardware", "model", "calibration"}));
  command->add_option("ID", options->id, "Catalog id")->required();
  command->add_option("--revision", options->revision, "As it was at this revision of the store")->type_name("N");
  command->callback([options, &chosen] { chosen = [options](const Session& s) { return Run(*options, s); }; });
}

}  // namespace foretoken::cli
