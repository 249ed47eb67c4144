// How each family of config.json describes its architecture.
#ifndef FORETOKEN_CLIENT_CLI_HUGGINGFACE_HUGGINGFACE_FAMILIES_H_
#define FORETOKEN_CLIENT_CLI_HUGGINGFACE_HUGGINGFACE_FAMILIES_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "client/cli/huggingface/config_reader.h"
#include "foretoken/v1/model.pb.h"

namespace foretoken::cli {

// Fills a model from its config.
using FamilyReader = void (*)(ConfigReader&, v1::ModelSpec&);

// Widths, heads and vocabulary under the names that most families share.
void ReadShape(ConfigReader& config, v1::ModelSpec& spec);

// Pre-norm blocks of RMS norms with a gated MLP. `tied`: whether the embedding is tied if the config does not say.
void ReadGated(ConfigReader& config, v1::ModelSpec& spec, bool tied);

// Sets sliding-window attention of `window_tokens` in all layers except `full_layers`; in all if none is given.
void SetWindow(int32_t window_tokens, std::optional<int32_t> full_layers, v1::ModelSpec& spec);

// Sets multi-head latent attention from the fields of DeepSeek.
void ReadLatents(ConfigReader& config, v1::ModelSpec& spec);

// Number of layers with full attention: counted in layer_types if the config has it, else `otherwise`. A layer type
// that is neither full nor sliding is a fault, and so is a list whose length is not `layers`.
int32_t FullLayers(ConfigReader& config, int32_t layers, int32_t otherwise);

// RMS norms and a gated MLP; the same with experts chosen by a biased router; layer norms and two matrices.
std::map<std::string, FamilyReader> GatedFamilies();
std::map<std::string, FamilyReader> BiasedRouterFamilies();
std::map<std::string, FamilyReader> PlainFamilies();

// Layers of several kinds: recurrence beside attention, and attention of several shapes or over a choice of tokens.
std::map<std::string, FamilyReader> MixedFamilies();
std::map<std::string, FamilyReader> SparseFamilies();

// All, by model_type.
const std::map<std::string, FamilyReader>& Families();

}  // namespace foretoken::cli

#endif  // FORETOKEN_CLIENT_CLI_HUGGINGFACE_HUGGINGFACE_FAMILIES_H_
