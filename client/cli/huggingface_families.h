// How each family of config.json describes its architecture.
#ifndef FORETOKEN_CLIENT_CLI_HUGGINGFACE_FAMILIES_H_
#define FORETOKEN_CLIENT_CLI_HUGGINGFACE_FAMILIES_H_

#include <map>
#include <string>

#include "client/cli/config_reader.h"
#include "foretoken/v1/model.pb.h"

namespace foretoken::cli {

// Fills a model from its config.
using FamilyReader = void (*)(ConfigReader&, v1::ModelSpec&);

// Widths, heads and vocabulary under the names that most families share.
void ReadShape(ConfigReader& config, v1::ModelSpec& spec);

// RMS norms and a gated MLP; layer norms and two matrices.
std::map<std::string, FamilyReader> GatedFamilies();
std::map<std::string, FamilyReader> PlainFamilies();

// All, by model_type.
const std::map<std::string, FamilyReader>& Families();

}  // namespace foretoken::cli

#endif  // FORETOKEN_CLIENT_CLI_HUGGINGFACE_FAMILIES_H_
