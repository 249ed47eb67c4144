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

// Pre-norm blocks of RMS norms with a gated MLP. `tied`: whether the embedding is where the config does not say.
void ReadGated(ConfigReader& config, v1::ModelSpec& spec, bool tied);

// The layers that see `window_tokens` only; without `full_layers` every one does.
void SetWindow(int32_t window_tokens, std::optional<int32_t> full_layers, v1::ModelSpec& spec);

// Layers that see everything: counted where layer_types states them, else `otherwise`. A kind of layer that is neither
// full nor windowed is a fault, and so are more or fewer kinds than `layers`.
int32_t FullLayers(ConfigReader& config, int32_t layers, int32_t otherwise);

// RMS norms and a gated MLP; the same with experts chosen by a biased router; layer norms and two matrices.
std::map<std::string, FamilyReader> GatedFamilies();
std::map<std::string, FamilyReader> BiasedRouterFamilies();
std::map<std::string, FamilyReader> PlainFamilies();

// All, by model_type.
const std::map<std::string, FamilyReader>& Families();

}  // namespace foretoken::cli

#endif  // FORETOKEN_CLIENT_CLI_HUGGINGFACE_HUGGINGFACE_FAMILIES_H_
