// foretoken register-model FILE: a model entry, or straight from a Hugging Face config.json.
#include <CLI/CLI.hpp>

#include "client/cli/commands/commands.h"
#include "client/cli/commands/write_flags.h"
#include "client/cli/huggingface/huggingface.h"
#include "client/cli/scenario/message_file.h"
#include "client/cli/text/csv.h"
#include "client/cli/text/profile_text.h"

namespace foretoken::cli {
namespace {

struct Options {
  std::string file;
  std::string id;
  std::vector<std::string> ignore;
  WriteFlags write;
  bool validate_only = false;
};

absl::StatusOr<v1::ModelSpec> ReadModel(const Options& options, std::istream& in) {
  const absl::StatusOr<std::string> text = ReadText(options.file, in);
  if (!text.ok()) return text.status();
  if (IsHuggingFaceConfig(*text)) return ModelFromHuggingFace(*text, options.file, options.ignore);
  v1::ModelSpec spec;
  const absl::Status status = ParseMessage(*text, options.file, spec);
  if (!status.ok()) return status;
  return spec;
}

absl::StatusOr<ExitCode> Run(const Options& options, const Session& session) {
  absl::StatusOr<v1::ModelSpec> spec = ReadModel(options, session.in);
  if (!spec.ok()) return spec.status();
  if (!options.id.empty()) spec->set_id(options.id);
  v1::RegisterModelRequest request;
  *request.mutable_spec() = *spec;
  options.write.Fill(request);
  request.set_validate_only(options.validate_only);
  const absl::StatusOr<v1::RegisterModelResponse> response = session.client.RegisterModel(request);
  if (!response.ok()) return response.status();
  const v1::ModelEntry& entry = response->entry();
  switch (session.output) {
    case OutputFormat::kJson:
      session.out << ToJson(*response);
      break;
    case OutputFormat::kCsv:
      session.out << CsvLine({"id", "etag"}) << CsvLine({entry.spec().id(), entry.etag()});
      break;
    case OutputFormat::kText:
      session.out << RegisteredText("model", entry.spec().id(), entry.etag(), options.validate_only,
                                    response->catalog_revision());
  }
  return kOk;
}

}  // namespace

void AddRegisterModel(CLI::App& app, Action& chosen) {
  CLI::App* command = app.add_subcommand("register-model", "Registers a model, also from a Hugging Face config.json");
  command->footer(
      "FILE is a foretoken.v1.ModelSpec (as `foretoken get model ID` prints one) or a config.json. Of a config.json\n"
      "every field must be understood: one that is not is an error that names it, until --ignore-field does.");
  auto options = std::make_shared<Options>();
  command->add_option("FILE", options->file, "textproto, JSON or config.json, - for standard input")->required();
  command->add_option("--id", options->id, "Catalog id; needed for a config.json")->type_name("ID");
  command->add_option("--ignore-field", options->ignore, "A field of config.json that does not matter here")
      ->type_name("NAME")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  options->write.AddTo(*command);
  command->add_flag("--validate-only", options->validate_only, "Run every check, store nothing");
  command->callback([options, &chosen] { chosen = [options](const Session& s) { return Run(*options, s); }; });
}

}  // namespace foretoken::cli
