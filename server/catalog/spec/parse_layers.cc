#include "server/catalog/spec/parse_layers.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace foretoken::catalog {
namespace {

constexpr int kMaxWidth = 1 << 24;
constexpr int kMaxHeads = 1 << 16;
constexpr int kMaxChunk = 1 << 16;
constexpr int kMaxTaps = 1 << 10;
constexpr int kMaxStreams = 64;
constexpr int kMaxTokens = 2'000'000'000;
constexpr int kMaxVocabulary = 100'000'000;

LinearAttentionType ParseType(FieldChecker& checks, v1::LinearAttentionType type) {
  checks.Enum("linear_attention.type", type, v1::LinearAttentionType_MAX);
  switch (type) {
    case v1::LINEAR_ATTENTION_TYPE_MAMBA_2:
      return LinearAttentionType::kMamba2;
    case v1::LINEAR_ATTENTION_TYPE_KIMI_DELTA_ATTENTION:
      return LinearAttentionType::kKimiDeltaAttention;
    case v1::LINEAR_ATTENTION_TYPE_GATED_DELTA_NET:
      return LinearAttentionType::kGatedDeltaNet;
    default:
      checks.Required("linear_attention.type");
      return LinearAttentionType::kGatedDeltaNet;
  }
}

void ParseLinearHeads(FieldChecker& checks, const v1::LinearAttention& spec, LinearAttention& linear) {
  linear.num_key_heads = checks.Int("linear_attention.num_key_heads", spec.num_key_heads(), 1, kMaxHeads);
  linear.num_value_heads = checks.Int("linear_attention.num_value_heads", spec.num_value_heads(), 1, kMaxHeads);
  linear.key_head_dim = checks.Int("linear_attention.key_head_dim", spec.key_head_dim(), 1, kMaxWidth);
  linear.value_head_dim = checks.Int("linear_attention.value_head_dim", spec.value_head_dim(), 1, kMaxWidth);
  if (spec.num_key_heads() > 0 && spec.num_value_heads() % spec.num_key_heads() != 0) {
    checks.Fault(
        "linear_attention.num_value_heads",
        absl::StrCat(" ", spec.num_value_heads(), "; allowed a multiple of num_key_heads ", spec.num_key_heads()));
  }
}

LinearAttention ParseLinear(FieldChecker& checks, const v1::LinearAttention& spec, int layers) {
  LinearAttention linear{.type = ParseType(checks, spec.type())};
  linear.num_layers = checks.Int("linear_attention.num_layers", spec.num_layers(), 1, std::max(1, layers));
  ParseLinearHeads(checks, spec, linear);
  linear.conv_kernel_size = checks.Int("linear_attention.conv_kernel_size", spec.conv_kernel_size(), 1, kMaxTaps);
  if (spec.has_chunk_size()) {
    linear.chunk_size = checks.Int("linear_attention.chunk_size", spec.chunk_size(), 1, kMaxChunk);
  }
  linear.beside_attention = spec.beside_attention();
  linear.conv_bias = spec.conv_bias();
  linear.no_output_norm = spec.no_output_norm();
  const Dtype state = checks.Dtype("linear_attention.state_dtype", spec.state_dtype());
  if (state != Dtype::kUnspecified) linear.state_dtype = state;
  return linear;
}

SparseAttention ParseSparse(FieldChecker& checks, const v1::SparseAttention& spec, const Model& model) {
  if (!model.latent_attention && !model.compressed_attention) {
    checks.Fault("sparse_attention", " needs latent_attention or compressed_attention");
  }
  if (model.latent_attention && model.sliding_window) {
    checks.Fault("sparse_attention", " is there; allowed without sliding_window");
  }
  const int layers = std::max(1, model.attention_layers());
  SparseAttention sparse;
  sparse.index_n_heads = checks.Int("sparse_attention.index_n_heads", spec.index_n_heads(), 1, kMaxHeads);
  sparse.index_head_dim = checks.Int("sparse_attention.index_head_dim", spec.index_head_dim(), 1, kMaxWidth);
  sparse.index_topk = checks.Int("sparse_attention.index_topk", spec.index_topk(), 1, kMaxTokens);
  sparse.num_indexer_layers = spec.has_num_indexer_layers() ? checks.Int("sparse_attention.num_indexer_layers",
                                                                         spec.num_indexer_layers(), 1, layers)
                                                            : layers;
  return sparse;
}

CompressedAttention ParseCompressed(FieldChecker& checks, const v1::CompressedAttention& spec, int layers) {
  const auto of = [&checks](const char* field, int value, int low, int high) {
    return checks.Int(absl::StrCat("compressed_attention.", field), value, low, high);
  };
  CompressedAttention c;
  c.q_lora_rank = of("q_lora_rank", spec.q_lora_rank(), 1, kMaxWidth);
  c.o_groups = of("o_groups", spec.o_groups(), 1, kMaxHeads);
  c.o_lora_rank = of("o_lora_rank", spec.o_lora_rank(), 1, kMaxWidth);
  c.num_sparse_layers = of("num_sparse_layers", spec.num_sparse_layers(), 0, layers);
  const int left = layers - std::clamp(c.num_sparse_layers, 0, layers);
  c.num_heavy_layers = of("num_heavy_layers", spec.num_heavy_layers(), c.num_sparse_layers > 0 ? 0 : 1, left);
  if (spec.num_sparse_layers() > 0) {
    c.sparse_compression = of("sparse_compression", spec.sparse_compression(), 1, kMaxChunk);
  }
  if (spec.num_heavy_layers() > 0) {
    c.heavy_compression = of("heavy_compression", spec.heavy_compression(), 1, kMaxChunk);
  }
  return c;
}

// Compressed attention has its own window, one key of all heads, and an indexer where it chooses.
void CheckCompressed(FieldChecker& checks, const v1::ModelSpec& spec, const Model& model) {
  if (!model.compressed_attention) return;
  const auto& window = model.sliding_window;
  if (!window || window->num_full_attention_layers > 0 || window->chunked) {
    checks.Fault("compressed_attention", " needs a sliding_window of all layers that is not chunked");
  }
  if (model.num_key_value_heads != 1) {
    checks.Fault("num_key_value_heads",
                 absl::StrCat(" ", model.num_key_value_heads, "; allowed 1 with compressed_attention"));
  }
  if (model.num_attention_heads % std::max(1, model.compressed_attention->o_groups) != 0) {
    checks.Fault("compressed_attention.o_groups",
                 absl::StrCat(" ", model.compressed_attention->o_groups, "; allowed a divisor of num_attention_heads ",
                              model.num_attention_heads));
  }
  if (spec.has_sparse_attention() != (spec.compressed_attention().num_sparse_layers() > 0)) {
    checks.Fault("compressed_attention.num_sparse_layers", " above 0 and sparse_attention need each other");
  }
  if (spec.has_latent_attention() || spec.has_linear_attention() || spec.has_num_attention_layers() ||
      spec.has_shared_key_values()) {
    checks.Fault("compressed_attention", " is there; allowed without latent, linear and shared attention");
  }
}

// Own shapes of the layers that see everything.
void ParseFullAttention(FieldChecker& checks, const v1::SlidingWindow& spec, const Model& model,
                        SlidingWindow& window) {
  if (spec.has_full_attention_head_dim()) {
    window.full_attention_head_dim =
        checks.Int("sliding_window.full_attention_head_dim", spec.full_attention_head_dim(), 1, kMaxWidth);
  }
  if (spec.has_num_full_attention_key_value_heads()) {
    const int heads = spec.num_full_attention_key_value_heads();
    window.num_full_attention_key_value_heads = checks.Int("sliding_window.num_full_attention_key_value_heads", heads,
                                                           1, std::max(1, model.num_attention_heads));
    if (heads > 0 && model.num_attention_heads % heads != 0) {
      checks.Fault("sliding_window.num_full_attention_key_value_heads",
                   absl::StrCat(" ", heads, "; allowed a divisor of num_attention_heads ", model.num_attention_heads));
    }
  }
  window.full_attention_keys_are_values = spec.full_attention_keys_are_values();
  const bool own = spec.has_full_attention_head_dim() || spec.has_num_full_attention_key_value_heads() ||
                   spec.full_attention_keys_are_values();
  if (own && (model.latent_attention || model.compressed_attention)) {
    checks.Fault("sliding_window",
                 " has heads of its own for full attention; allowed without latent and compressed "
                 "attention");
  }
}

// Of each kind of layer one keeps its keys at least.
SharedKeyValues ParseShared(FieldChecker& checks, const v1::SharedKeyValues& spec, const Model& model) {
  const int layers = model.attention_layers();
  const int full = model.sliding_window ? model.sliding_window->num_full_attention_layers : layers;
  SharedKeyValues shared;
  shared.num_windowed_layers = checks.Int("shared_key_values.num_windowed_layers", spec.num_windowed_layers(), 0,
                                          std::max(0, layers - full - 1));
  shared.num_full_attention_layers = checks.Int("shared_key_values.num_full_attention_layers",
                                                spec.num_full_attention_layers(), 0, std::max(0, full - 1));
  if (model.latent_attention) checks.Fault("shared_key_values", " is there; allowed without latent_attention");
  if (!spec.has_intermediate_size()) return shared;
  shared.intermediate_size = checks.Int("shared_key_values.intermediate_size", spec.intermediate_size(), 1, kMaxWidth);
  return shared;
}

PerLayerInput ParsePerLayerInput(FieldChecker& checks, const v1::PerLayerInput& spec) {
  PerLayerInput input;
  input.hidden_size = checks.Int("per_layer_input.hidden_size", spec.hidden_size(), 1, kMaxWidth);
  input.vocab_size = checks.Int("per_layer_input.vocab_size", spec.vocab_size(), 1, kMaxVocabulary);
  return input;
}

}  // namespace

void ParseLayerCounts(FieldChecker& checks, const v1::ModelSpec& spec, Model& model) {
  const int layers = std::max(1, spec.num_hidden_layers());
  if (spec.has_linear_attention()) model.linear_attention = ParseLinear(checks, spec.linear_attention(), layers);
  if (spec.has_num_attention_layers()) {
    model.num_attention_layers = checks.Int("num_attention_layers", spec.num_attention_layers(), 1, layers);
  }
  if (spec.has_num_mlp_layers()) {
    model.num_mlp_layers = checks.Int("num_mlp_layers", spec.num_mlp_layers(), 1, layers);
  }
  if (!spec.has_linear_attention() || spec.linear_attention().beside_attention()) return;
  const int64_t recurrent = spec.linear_attention().num_layers();
  if (recurrent + (spec.has_num_attention_layers() ? spec.num_attention_layers() : 1) > layers) {
    checks.Fault(
        "linear_attention.num_layers",
        absl::StrCat(" ", recurrent, "; allowed to leave layers with attention of num_hidden_layers ", layers));
  }
}

void ParseLayers(FieldChecker& checks, const v1::ModelSpec& spec, Model& model) {
  if (spec.has_compressed_attention()) {
    model.compressed_attention =
        ParseCompressed(checks, spec.compressed_attention(), std::max(1, model.num_hidden_layers));
  }
  if (model.sliding_window) ParseFullAttention(checks, spec.sliding_window(), model, *model.sliding_window);
  if (spec.has_sparse_attention()) model.sparse_attention = ParseSparse(checks, spec.sparse_attention(), model);
  CheckCompressed(checks, spec, model);
  model.attention_output_gate = spec.attention_output_gate();
  if (model.attention_output_gate && (model.latent_attention || model.compressed_attention)) {
    checks.Fault("attention_output_gate", " true; allowed without latent and compressed attention");
  }
  if (spec.has_per_layer_input()) model.per_layer_input = ParsePerLayerInput(checks, spec.per_layer_input());
  if (spec.has_shared_key_values()) model.shared_key_values = ParseShared(checks, spec.shared_key_values(), model);
  if (spec.shared_key_values().has_intermediate_size() && spec.has_mixture_of_experts()) {
    checks.Fault("shared_key_values.intermediate_size", " is there; allowed without mixture_of_experts");
  }
  if (spec.has_residual_streams()) {
    model.residual_streams = checks.Int("residual_streams", spec.residual_streams(), 1, kMaxStreams);
  }
}

}  // namespace foretoken::catalog
