#include "client/cli/huggingface_families.h"

namespace foretoken::cli {

void ReadShape(ConfigReader& config, v1::ModelSpec& spec) {
  spec.set_num_hidden_layers(config.Int("num_hidden_layers"));
  spec.set_hidden_size(config.Int("hidden_size"));
  spec.set_num_attention_heads(config.Int("num_attention_heads"));
  spec.set_num_key_value_heads(config.MaybeInt("num_key_value_heads").value_or(spec.num_attention_heads()));
  if (const auto head = config.MaybeInt("head_dim")) spec.set_head_dim(*head);
  spec.set_intermediate_size(config.Int("intermediate_size"));
  spec.set_vocab_size(config.Int("vocab_size"));
  if (const auto context = config.MaybeInt("max_position_embeddings")) spec.set_max_position_embeddings(*context);
}

const std::map<std::string, FamilyReader>& Families() {
  static const auto& families = *[] {
    auto* all = new std::map<std::string, FamilyReader>(GatedFamilies());
    all->merge(PlainFamilies());
    return all;
  }();
  return families;
}

}  // namespace foretoken::cli
