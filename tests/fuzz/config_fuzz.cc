// A model's config.json of Hugging Face, and the same text as a message in JSON or textproto.
#include "client/cli/huggingface/huggingface.h"
#include "client/cli/scenario/message_file.h"
#include "google/protobuf/stubs/logging.h"
#include "server/catalog/spec/parse.h"
#include "tests/fuzz/fuzz.h"

namespace foretoken {

// A model that was made of it is one that the server takes or refuses by field.
void fuzz::One(std::string_view input) {
  google::protobuf::SetLogHandler(nullptr);
  const std::string text(input);
  v1::ModelSpec spec;
  const absl::Status read = cli::ParseMessage(text, "x", spec);
  Require(read.ok() || !read.message().empty(), "a refusal without a message");
  if (!cli::IsHuggingFaceConfig(text)) return;
  absl::StatusOr<v1::ModelSpec> model = cli::ModelFromHuggingFace(text, "config.json", {});
  Require(model.ok() || !model.status().message().empty(), "a refusal without a message");
  if (!model.ok()) return;
  const absl::Status parsed = catalog::ParseModel(*model).status();
  Require(parsed.ok() || !parsed.message().empty(), "a refusal without a message");
}

}  // namespace foretoken
