#include "client/cli/huggingface/huggingface_families.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"

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

void ReadGated(ConfigReader& config, v1::ModelSpec& spec, bool tied) {
  ReadShape(config, spec);
  spec.set_mlp_matrices(3);
  spec.set_norm_type(v1::NORM_TYPE_RMSNORM);
  spec.set_norms_per_layer(2);
  spec.set_tie_word_embeddings(config.Bool("tie_word_embeddings", tied));
}

void SetWindow(int32_t window_tokens, std::optional<int32_t> full_layers, v1::ModelSpec& spec) {
  spec.mutable_sliding_window()->set_window_tokens(window_tokens);
  if (full_layers.has_value()) spec.mutable_sliding_window()->set_num_full_attention_layers(*full_layers);
}

void ReadLatents(Config& config, ModelSpec& spec) {
  spec.set_attention_type(v1::ATTENTION_TYPE_MLA);
  v1::LatentAttention& latent = *spec.mutable_latent_attention();
  if (const auto rank = config.MaybeInt("q_lora_rank")) latent.set_q_lora_rank(*rank);
  latent.set_kv_lora_rank(config.Int("kv_lora_rank"));
  latent.set_qk_rope_head_dim(config.Int("qk_rope_head_dim"));
  latent.set_qk_nope_head_dim(config.Int("qk_nope_head_dim"));
  latent.set_v_head_dim(config.Int("v_head_dim"));
  config.Ignore({"qk_head_dim"});  // the sum of its two parts
}

int32_t FullLayers(ConfigReader& config, int32_t layers, int32_t otherwise) {
  const std::vector<std::string> types = config.Texts("layer_types");
  if (types.empty()) return otherwise;
  if (static_cast<int32_t>(types.size()) != layers) {
    config.Fault("layer_types", absl::StrCat(types.size(), " entries; num_hidden_layers is ", layers));
  }
  for (const std::string& type : types) {
    if (type == "full_attention" || type == "sliding_attention") continue;
    config.Fault("layer_types", absl::StrCat("\"", type, "\"; allowed: full_attention, sliding_attention"));
    break;
  }
  return static_cast<int32_t>(std::count(types.begin(), types.end(), "full_attention"));
}

const std::map<std::string, FamilyReader>& Families() {
  static const auto& families = *[] {
    auto* all = new std::map<std::string, FamilyReader>(GatedFamilies());
    all->merge(BiasedRouterFamilies());
    all->merge(PlainFamilies());
    all->merge(MixedFamilies());
    all->merge(SparseFamilies());
    return all;
  }();
  return families;
}

}  // namespace foretoken::cli
