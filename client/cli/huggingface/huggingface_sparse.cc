// Families whose attention has several shapes or sees a choice of the context: Gemma 4, DeepSeek-V3.2 and V4, GLM-5.
#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/cli/huggingface/huggingface_families.h"

namespace foretoken::cli {
namespace {

using Config = ConfigReader;
using v1::ModelSpec;

// An indexer in each layer, or in those that are listed as full.
void ReadIndexer(Config& config, ModelSpec& spec) {
  v1::SparseAttention& sparse = *spec.mutable_sparse_attention();
  sparse.set_index_n_heads(config.Int("index_n_heads"));
  sparse.set_index_head_dim(config.Int("index_head_dim"));
  sparse.set_index_topk(config.Int("index_topk"));
  const std::vector<std::string> types = config.Texts("indexer_types");
  if (!types.empty()) {
    sparse.set_num_indexer_layers(static_cast<int32_t>(std::count(types.begin(), types.end(), "full")));
  } else if (config.MaybeInt("index_topk_freq").value_or(1) != 1) {
    config.Fault("indexer_types", "is missing; index_topk_freq needs it");
  }
  config.Ignore(
      {"index_topk_freq", "index_skip_topk_offset", "index_share_for_mtp_iteration", "indexer_rope_interleave"});
}

void DeepseekV32(Config& config, ModelSpec& spec) {
  Families().at("deepseek_v3")(config, spec);
  ReadIndexer(config, spec);
}

void GlmMoeDsa(Config& config, ModelSpec& spec) {
  DeepseekV32(config, spec);
  config.Ignore({"mlp_layer_types"});  // first_k_dense_replace says the same
}

int32_t CountRatio(const std::vector<double>& ratios, double ratio) {
  return static_cast<int32_t>(std::count(ratios.begin(), ratios.end(), ratio));
}

// Tokens of an entry, by layer: 0 the window alone, 4 chosen entries, 128 all entries. One more is of the module for
// multi-token prediction.
void ReadCompression(Config& config, ModelSpec& spec) {
  constexpr int kChosen = 4;
  constexpr int kAll = 128;
  std::vector<double> ratios = config.Numbers("compress_ratios");
  if (ratios.size() < static_cast<size_t>(std::max(0, spec.num_hidden_layers()))) {
    config.Fault("compress_ratios",
                 absl::StrCat(ratios.size(), " entries; num_hidden_layers is ", spec.num_hidden_layers()));
    return;
  }
  ratios.resize(static_cast<size_t>(spec.num_hidden_layers()));
  v1::CompressedAttention& compressed = *spec.mutable_compressed_attention();
  compressed.set_q_lora_rank(config.Int("q_lora_rank"));
  compressed.set_o_groups(config.Int("o_groups"));
  compressed.set_o_lora_rank(config.Int("o_lora_rank"));
  compressed.set_num_sparse_layers(CountRatio(ratios, kChosen));
  compressed.set_sparse_compression(kChosen);
  compressed.set_num_heavy_layers(CountRatio(ratios, kAll));
  compressed.set_heavy_compression(kAll);
  const int32_t windows = CountRatio(ratios, 0);
  if (windows + compressed.num_sparse_layers() + compressed.num_heavy_layers() != spec.num_hidden_layers()) {
    config.Fault("compress_ratios", "allowed: 0, 4, 128");
  }
}

// Weights of experts in FP4 have a scale for 32 of them.
void ReadExpertDtype(Config& config, v1::MixtureOfExperts& moe) {
  const std::string dtype = config.Text("expert_dtype");
  if (dtype == "fp4") moe.set_native_expert_dtype(v1::DTYPE_MXFP4);
  if (!dtype.empty() && dtype != "fp4") config.Fault("expert_dtype", absl::StrCat("\"", dtype, "\"; allowed: fp4"));
}

void DeepseekV4(Config& config, ModelSpec& spec) {
  spec.set_num_hidden_layers(config.Int("num_hidden_layers"));
  spec.set_hidden_size(config.Int("hidden_size"));
  spec.set_num_attention_heads(config.Int("num_attention_heads"));
  spec.set_num_key_value_heads(config.Int("num_key_value_heads"));
  spec.set_head_dim(config.Int("head_dim"));
  spec.set_vocab_size(config.Int("vocab_size"));
  if (const auto context = config.MaybeInt("max_position_embeddings")) spec.set_max_position_embeddings(*context);
  spec.set_mlp_matrices(3);
  spec.set_norm_type(v1::NORM_TYPE_RMSNORM);
  spec.set_norms_per_layer(2);
  spec.set_tie_word_embeddings(config.Bool("tie_word_embeddings", false));
  spec.set_attention_sinks(true);
  spec.set_residual_streams(config.Int("hc_mult"));
  SetWindow(config.Int("sliding_window"), 0, spec);
  ReadCompression(config, spec);
  ReadIndexer(config, spec);
  v1::MixtureOfExperts& moe = *spec.mutable_mixture_of_experts();
  moe.set_num_experts(config.Int("n_routed_experts"));
  moe.set_num_experts_per_tok(config.Int("num_experts_per_tok"));
  moe.set_moe_intermediate_size(config.Int("moe_intermediate_size"));
  moe.set_num_shared_experts(config.Int("n_shared_experts"));
  moe.set_router_bias(true);
  ReadExpertDtype(config, moe);
  spec.set_intermediate_size(moe.moe_intermediate_size());
  config.MustBeOff("attention_bias");
  config.Ignore(
      {"qk_rope_head_dim", "compress_rope_theta", "hc_eps", "hc_sinkhorn_iters", "num_hash_layers", "swiglu_limit"});
}

// Of the last layers, which see everything.
int32_t FullAmongLast(const std::vector<std::string>& types, int32_t last) {
  const auto begin = types.end() - std::min<std::ptrdiff_t>(last, std::ssize(types));
  return static_cast<int32_t>(std::count(begin, types.end(), "full_attention"));
}

std::vector<std::string> GemmaTypes(Config& config, int32_t layers) {
  constexpr int32_t kPeriod = 6;
  std::vector<std::string> types = config.Texts("layer_types");
  if (!types.empty()) return types;
  for (int32_t i = 1; i <= layers; ++i) types.push_back(i % kPeriod == 0 ? "full_attention" : "sliding_attention");
  return types;
}

void ReadGemmaShapes(Config& config, ModelSpec& spec) {
  const int32_t layers = spec.num_hidden_layers();
  const std::vector<std::string> types = GemmaTypes(config, layers);
  SetWindow(config.MaybeInt("sliding_window").value_or(512), FullLayers(config, layers, FullAmongLast(types, layers)),
            spec);
  v1::SlidingWindow& window = *spec.mutable_sliding_window();
  window.set_full_attention_head_dim(config.MaybeInt("global_head_dim").value_or(512));
  const bool same = config.Bool("attention_k_eq_v", false);
  const auto heads = config.MaybeInt("num_global_key_value_heads");
  if (same && heads) window.set_num_full_attention_key_value_heads(*heads);
  if (same) window.set_full_attention_keys_are_values(true);
  const int32_t shared = config.MaybeInt("num_kv_shared_layers").value_or(0);
  const bool wide = config.Bool("use_double_wide_mlp", false);
  if (shared <= 0) return;
  const int32_t full = FullAmongLast(types, shared);
  spec.mutable_shared_key_values()->set_num_full_attention_layers(full);
  spec.mutable_shared_key_values()->set_num_windowed_layers(shared - full);
  if (wide) spec.mutable_shared_key_values()->set_intermediate_size(2 * spec.intermediate_size());
}

void Gemma4(Config& config, ModelSpec& spec) {
  ReadGated(config, spec, true);
  if (!spec.has_head_dim()) spec.set_head_dim(256);
  spec.set_norms_per_layer(4);
  spec.set_qk_norm(v1::QK_NORM_PER_HEAD);
  ReadGemmaShapes(config, spec);
  if (config.Bool("enable_moe_block", false)) {
    v1::MixtureOfExperts& moe = *spec.mutable_mixture_of_experts();
    moe.set_num_experts(config.Int("num_experts"));
    moe.set_num_experts_per_tok(config.Int("top_k_experts"));
    moe.set_moe_intermediate_size(config.Int("moe_intermediate_size"));
    moe.set_num_shared_experts(1);  // the MLP beside the experts
    moe.set_shared_expert_intermediate_size(spec.intermediate_size());
    spec.set_norms_per_layer(7);
  }
  const int32_t width = config.MaybeInt("hidden_size_per_layer_input").value_or(256);
  const auto rows = config.MaybeInt("vocab_size_per_layer_input");
  if (width > 0) {
    spec.mutable_per_layer_input()->set_hidden_size(width);
    spec.mutable_per_layer_input()->set_vocab_size(rows.value_or(262144));
  }
  config.MustBeOff("attention_bias");
  const std::string bidirectional = config.Text("use_bidirectional_attention");
  if (!bidirectional.empty() && bidirectional != "vision") {
    config.Fault("use_bidirectional_attention", absl::StrCat("\"", bidirectional, "\"; allowed: vision"));
  }
}

}  // namespace

std::map<std::string, FamilyReader> SparseFamilies() {
  return {
      {"deepseek_v32", DeepseekV32}, {"deepseek_v4", DeepseekV4}, {"glm_moe_dsa", GlmMoeDsa}, {"gemma4_text", Gemma4}};
}

}  // namespace foretoken::cli
