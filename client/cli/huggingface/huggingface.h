// The architecture of a model from its Hugging Face config.json.
//
// Start of the room huggingface/. It includes scenario/ and the rooms before it.
//
// Understood by model_type: llama, mistral, mixtral, qwen2, qwen2_moe, qwen3, qwen3_moe, gemma, gemma2, gemma3_text,
// gemma4_text, phi, phi3, gpt2, gpt_neox, falcon, falcon_h1, deepseek_v2, deepseek_v3, deepseek_v32, deepseek_v4,
// kimi_linear, glm_moe_dsa, qwen3_next, qwen3_5_text, qwen3_5_moe_text, granitemoehybrid, nemotron_h and others; of
// qwen3_5, qwen3_5_moe and gemma4 the language model. Each family reads the fields that
// it knows. A field that no code read is an error that names it, unless it is known not to change the cost (token ids,
// rotary settings, dropout, ...). So an unknown variant is refused, not guessed.
#ifndef FORETOKEN_CLIENT_CLI_HUGGINGFACE_HUGGINGFACE_H_
#define FORETOKEN_CLIENT_CLI_HUGGINGFACE_HUGGINGFACE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "foretoken/v1/model.pb.h"

namespace foretoken::cli {

// Whether the text is JSON with a "model_type" or "architectures", which no ModelSpec has.
bool IsHuggingFaceConfig(const std::string& text);

// The model, without an id (the file has none). `file` is named as its source. `ignore`: fields that
// the caller declares irrelevant. Errors: INVALID_ARGUMENT: not JSON, an unknown model_type, a field that is missing,
// of the wrong kind or not understood; all of them are named.
absl::StatusOr<v1::ModelSpec> ModelFromHuggingFace(const std::string& text, const std::string& file,
                                                   const std::vector<std::string>& ignore);

}  // namespace foretoken::cli

#endif  // FORETOKEN_CLIENT_CLI_HUGGINGFACE_HUGGINGFACE_H_
