// foretoken register-model FILE: a model, from its entry or from a Hugging Face config.json.
#include <CLI/CLI.hpp>

#include "client/cli/commands/commands.h"
#include "client/cli/entries/entry_kind.h"
#include "client/cli/entries/registration.h"
#include "client/cli/huggingface/huggingface.h"

namespace foretoken::cli {
namespace {

struct Options {
  std::string file;
  std::string id;
  std::vector<std::string> ignore;
  RegistrationFlags flags;
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
  options.flags.Fill(request);
  const absl::StatusOr<v1::RegisterModelResponse> response = session.client.RegisterModel(request);
  if (!response.ok()) return response.status();
  PrintRegistered<ModelKind>(*response, options.flags.validate_only, session);
  return kOk;
}

}  // namespace

void AddRegisterModel(CLI::App& app, Action& chosen) {
  CLI::App* command =
      app.add_subcommand("register-model", "Registers a model from its entry or from a Hugging Face config.json");
  command->footer(
      "FILE is a foretoken.v1.ModelSpec (as `foretoken get model ID` prints one) or a config.json. Every field of a\n"
      "config.json must be understood; an unknown field is an error unless --ignore-field names it.");
  auto options = std::make_shared<Options>();
  command->add_option("FILE", options->file, "textproto, JSON or config.json, - for standard input")->required();
  command->add_option("--id", options->id, "Catalog id; required for a config.json")->type_name("ID");
  command->add_option("--ignore-field", options->ignore, "Field of config.json that does not change the cost")
      ->type_name("NAME")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  options->flags.AddTo(*command);
  command->callback([options, &chosen] { chosen = [options](const Session& s) { return Run(*options, s); }; });
}

}  // namespace foretoken::cli
