#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "server/catalog/spec/aliases.h"
#include "server/catalog/spec/field_checker.h"
#include "server/catalog/spec/parse.h"
#include "server/catalog/spec/parse_layers.h"

namespace foretoken::catalog {
namespace {

constexpr int kMaxLayers = 10'000;
constexpr int kMaxWidth = 1 << 24;
constexpr int kMaxHeads = 1 << 16;
constexpr int kMaxExperts = 1 << 16;
constexpr int kMaxTokens = 2'000'000'000;
constexpr double kParameterTolerance = 1e-4;  // relative; published counts may leave out buffers

void RequireMultiple(FieldChecker& checks, std::string_view field, int value, std::string_view by, int divisor) {
  if (value < 1 || divisor < 1 || value % divisor == 0) return;
  checks.Fault(field, absl::StrFormat(" %d; allowed a multiple of %s %d", value,
                                      absl::string_view(by.data(), by.size()), divisor));
}

// Heads: their number, how they share keys and values, and their size.
void ParseHeads(FieldChecker& checks, const v1::ModelSpec& spec, Model& model) {
  model.num_attention_heads = checks.Int("num_attention_heads", spec.num_attention_heads(), 1, kMaxHeads);
  model.num_key_value_heads = spec.has_num_key_value_heads() ? spec.num_key_value_heads() : spec.num_attention_heads();
  if (spec.has_num_key_value_heads()) {
    checks.Int("num_key_value_heads", spec.num_key_value_heads(), 1, std::max(1, spec.num_attention_heads()));
  }
  RequireMultiple(checks, "num_attention_heads", model.num_attention_heads, "num_key_value_heads",
                  model.num_key_value_heads);
  if (spec.has_head_dim()) {
    model.head_dim = checks.Int("head_dim", spec.head_dim(), 1, kMaxWidth);
  } else if (spec.has_latent_attention()) {
    const v1::LatentAttention& mla = spec.latent_attention();  // not checked yet: clamped, so that the sum is an int
    model.head_dim =
        std::clamp(mla.qk_nope_head_dim(), 0, kMaxWidth) + std::clamp(mla.qk_rope_head_dim(), 0, kMaxWidth);
  } else if (spec.num_attention_heads() > 0) {
    RequireMultiple(checks, "hidden_size", spec.hidden_size(), "num_attention_heads", spec.num_attention_heads());
    model.head_dim = spec.hidden_size() / spec.num_attention_heads();
  }
}

void CheckAttentionType(FieldChecker& checks, const v1::ModelSpec& spec, const Model& model) {
  const v1::AttentionType type = spec.attention_type();
  checks.Enum("attention_type", type, v1::AttentionType_MAX);
  const int heads = model.num_attention_heads;
  const int kv_heads = model.num_key_value_heads;
  const bool fits = (type != v1::ATTENTION_TYPE_MHA || kv_heads == heads) &&
                    (type != v1::ATTENTION_TYPE_GQA || (kv_heads > 1 && kv_heads < heads)) &&
                    (type != v1::ATTENTION_TYPE_MQA || kv_heads == 1) &&
                    (type != v1::ATTENTION_TYPE_MLA || kv_heads == heads);
  if (!fits) {
    checks.Fault("attention_type", absl::StrFormat(" %s contradicts %d heads with %d key and value heads",
                                                   v1::AttentionType_Name(type), heads, kv_heads));
  }
  if (spec.has_latent_attention() != (type == v1::ATTENTION_TYPE_MLA)) {
    checks.Fault("latent_attention", spec.has_latent_attention()
                                         ? " is there; allowed with attention_type ATTENTION_TYPE_MLA only"
                                         : " is required by attention_type ATTENTION_TYPE_MLA");
  }
}

LatentAttention ParseLatent(FieldChecker& checks, const v1::LatentAttention& spec) {
  LatentAttention mla;
  if (spec.has_q_lora_rank()) {
    mla.q_lora_rank = checks.Int("latent_attention.q_lora_rank", spec.q_lora_rank(), 1, kMaxWidth);
  }
  mla.kv_lora_rank = checks.Int("latent_attention.kv_lora_rank", spec.kv_lora_rank(), 1, kMaxWidth);
  mla.qk_rope_head_dim = checks.Int("latent_attention.qk_rope_head_dim", spec.qk_rope_head_dim(), 0, kMaxWidth);
  mla.qk_nope_head_dim = checks.Int("latent_attention.qk_nope_head_dim", spec.qk_nope_head_dim(), 1, kMaxWidth);
  mla.v_head_dim = checks.Int("latent_attention.v_head_dim", spec.v_head_dim(), 1, kMaxWidth);
  return mla;
}

// `layers`: those with attention.
SlidingWindow ParseWindow(FieldChecker& checks, const v1::ModelSpec& spec, int layers) {
  const v1::SlidingWindow& window = spec.sliding_window();
  SlidingWindow out{.chunked = window.chunked()};
  out.window_tokens = checks.Int("sliding_window.window_tokens", window.window_tokens(), 1, kMaxTokens);
  out.num_full_attention_layers =
      checks.Int("sliding_window.num_full_attention_layers", window.num_full_attention_layers(), 0, layers);
  return out;
}

// Shared experts: how many, and how wide all of them are together.
void ParseSharedExperts(FieldChecker& checks, const v1::MixtureOfExperts& spec, MixtureOfExperts& moe) {
  moe.num_shared_experts =
      checks.Int("mixture_of_experts.num_shared_experts", spec.num_shared_experts(), 0, kMaxExperts);
  moe.shared_expert_gate = spec.shared_expert_gate();
  if (spec.has_shared_expert_intermediate_size()) {
    moe.shared_expert_intermediate_size = checks.Int("mixture_of_experts.shared_expert_intermediate_size",
                                                     spec.shared_expert_intermediate_size(), 0, kMaxWidth);
  } else {
    const int64_t width = int64_t{spec.num_shared_experts()} * spec.moe_intermediate_size();
    moe.shared_expert_intermediate_size = static_cast<int>(std::clamp<int64_t>(width, 0, kMaxWidth));
  }
  if (moe.num_shared_experts > 0) return;
  if (moe.shared_expert_intermediate_size > 0) {
    checks.Fault("mixture_of_experts.shared_expert_intermediate_size", " needs num_shared_experts of 1 or more");
  }
  if (moe.shared_expert_gate) {
    checks.Fault("mixture_of_experts.shared_expert_gate", " needs num_shared_experts of 1 or more");
  }
}

// Which layers are MoE, and how wide the others are. The first dense ones lead; after them every moe_layer_freq-th.
void ParseExpertLayers(FieldChecker& checks, const v1::ModelSpec& model, const v1::MixtureOfExperts& spec,
                       MixtureOfExperts& moe) {
  const int layers = std::max(1, model.has_num_mlp_layers() ? model.num_mlp_layers() : model.num_hidden_layers());
  moe.first_k_dense_replace =
      checks.Int("mixture_of_experts.first_k_dense_replace", spec.first_k_dense_replace(), 0, layers - 1);
  const int routed = layers - std::clamp(moe.first_k_dense_replace, 0, layers - 1);
  moe.moe_layer_freq =
      spec.has_moe_layer_freq() ? checks.Int("mixture_of_experts.moe_layer_freq", spec.moe_layer_freq(), 1, routed) : 1;
  moe.dense_intermediate_size =
      spec.has_dense_intermediate_size()
          ? checks.Int("mixture_of_experts.dense_intermediate_size", spec.dense_intermediate_size(), 1, kMaxWidth)
          : model.intermediate_size();
}

MixtureOfExperts ParseExperts(FieldChecker& checks, const v1::ModelSpec& model, foretoken::Dtype native_dtype) {
  const v1::MixtureOfExperts& spec = model.mixture_of_experts();
  MixtureOfExperts moe{.router_bias = spec.router_bias()};
  moe.num_experts = checks.Int("mixture_of_experts.num_experts", spec.num_experts(), 1, kMaxExperts);
  moe.num_experts_per_tok = checks.Int("mixture_of_experts.num_experts_per_tok", spec.num_experts_per_tok(), 1,
                                       std::max(1, spec.num_experts()));
  moe.moe_intermediate_size =
      checks.Int("mixture_of_experts.moe_intermediate_size", spec.moe_intermediate_size(), 1, kMaxWidth);
  if (spec.has_moe_latent_size()) {
    moe.moe_latent_size = checks.Int("mixture_of_experts.moe_latent_size", spec.moe_latent_size(), 1, kMaxWidth);
  }
  ParseSharedExperts(checks, spec, moe);
  ParseExpertLayers(checks, model, spec, moe);
  moe.native_expert_dtype = checks.Dtype("mixture_of_experts.native_expert_dtype", spec.native_expert_dtype());
  if (moe.native_expert_dtype == Dtype::kUnspecified) moe.native_expert_dtype = native_dtype;
  return moe;
}

// An MLP width is needed where a layer has a dense MLP.
void ParseMlp(FieldChecker& checks, const v1::ModelSpec& spec, Model& model) {
  const bool all_layers_routed =
      spec.has_mixture_of_experts() && spec.mixture_of_experts().first_k_dense_replace() == 0 &&
      (!spec.mixture_of_experts().has_moe_layer_freq() || spec.mixture_of_experts().moe_layer_freq() == 1);
  const bool stated_elsewhere =
      spec.has_mixture_of_experts() && spec.mixture_of_experts().has_dense_intermediate_size();
  const int min = all_layers_routed || stated_elsewhere ? 0 : 1;
  model.intermediate_size = checks.Int("intermediate_size", spec.intermediate_size(), min, kMaxWidth);
  if (spec.has_mlp_matrices()) model.mlp_matrices = checks.Int("mlp_matrices", spec.mlp_matrices(), 2, 3);
  model.mlp_bias = spec.mlp_bias();
}

NormType ParseNorm(FieldChecker& checks, v1::NormType type) {
  checks.Enum("norm_type", type, v1::NormType_MAX);
  switch (type) {
    case v1::NORM_TYPE_LAYERNORM:
      return NormType::kLayerNorm;
    case v1::NORM_TYPE_NON_PARAMETRIC:
      return NormType::kNonParametric;
    case v1::NORM_TYPE_LAYERNORM_NO_BIAS:
      return NormType::kLayerNormNoBias;
    default:
      return NormType::kRmsNorm;
  }
}

void ParseNorms(FieldChecker& checks, const v1::ModelSpec& spec, Model& model) {
  model.norm_type = ParseNorm(checks, spec.norm_type());
  checks.Enum("qk_norm", spec.qk_norm(), v1::QkNorm_MAX);
  if (spec.qk_norm() == v1::QK_NORM_PER_HEAD) model.qk_norm = QkNorm::kPerHead;
  if (spec.qk_norm() == v1::QK_NORM_FULL) model.qk_norm = QkNorm::kFull;
  if (spec.has_norms_per_layer()) model.norms_per_layer = checks.Int("norms_per_layer", spec.norms_per_layer(), 0, 16);
  model.embedding_norm = spec.embedding_norm();
}

void ParseEmbedding(FieldChecker& checks, const v1::ModelSpec& spec, Model& model) {
  model.vocab_size = checks.Int("vocab_size", spec.vocab_size(), 1, 100'000'000);
  model.tie_word_embeddings = spec.tie_word_embeddings();
  model.lm_head_bias = spec.lm_head_bias();
  model.learned_position_rows = checks.Int("learned_position_rows", spec.learned_position_rows(), 0, kMaxTokens);
  if (spec.has_max_position_embeddings()) {
    model.max_position_embeddings =
        checks.Int("max_position_embeddings", spec.max_position_embeddings(), 1, kMaxTokens);
  }
}

void ParseAttention(FieldChecker& checks, const v1::ModelSpec& spec, Model& model) {
  ParseHeads(checks, spec, model);
  CheckAttentionType(checks, spec, model);
  if (spec.has_latent_attention()) model.latent_attention = ParseLatent(checks, spec.latent_attention());
  if (spec.has_sliding_window()) {
    model.sliding_window = ParseWindow(checks, spec, std::max(0, model.attention_layers()));
  }
  model.qkv_bias = spec.qkv_bias();
  model.attention_output_bias = spec.attention_output_bias();
  model.attention_sinks = spec.attention_sinks();
  model.parallel_block = spec.parallel_block();
}

// REQUIRES: everything else about the model is valid.
void CheckParameterCount(FieldChecker& checks, const v1::ModelSpec& spec, const Model& model) {
  if (!spec.has_parameter_count() || !model.unsupported_reason.empty()) return;
  const double counted = CountParameters(model).Total();
  const auto stated = static_cast<double>(spec.parameter_count());
  if (std::abs(stated - counted) <= kParameterTolerance * counted) return;
  checks.Fault("parameter_count",
               absl::StrFormat(" %d; the architecture has %.0f, off by %+.2f%%; allowed within 0.01%%",
                               spec.parameter_count(), counted, 100 * (stated / counted - 1)));
}

void CheckCounts(FieldChecker& checks, const v1::ModelSpec& spec) {
  if (spec.has_parameter_count() && spec.parameter_count() < 1) {
    checks.Fault("parameter_count", absl::StrCat(" ", spec.parameter_count(), "; allowed 1 or more"));
  }
  if (!spec.has_active_parameter_count()) return;
  const int64_t active = spec.active_parameter_count();
  if (active < 1) checks.Fault("active_parameter_count", absl::StrCat(" ", active, "; allowed 1 or more"));
  if (spec.has_parameter_count() && active > spec.parameter_count()) {
    checks.Fault("active_parameter_count",
                 absl::StrCat(" ", active, "; allowed at most parameter_count ", spec.parameter_count()));
  }
}

}  // namespace

absl::StatusOr<Model> ParseModel(const v1::ModelSpec& spec) {
  std::vector<FieldViolation> violations;
  FieldChecker checks("", violations);
  if (!spec.id().empty()) checks.Id("id", spec.id());
  CheckAliases(checks, spec.id(), spec.aliases());
  Model model{.id = spec.id(), .unsupported_reason = spec.unsupported_reason()};
  model.num_hidden_layers = checks.Int("num_hidden_layers", spec.num_hidden_layers(), 1, kMaxLayers);
  model.hidden_size = checks.Int("hidden_size", spec.hidden_size(), 1, kMaxWidth);
  ParseLayerCounts(checks, spec, model);
  ParseAttention(checks, spec, model);
  ParseLayers(checks, spec, model);
  ParseMlp(checks, spec, model);
  ParseNorms(checks, spec, model);
  ParseEmbedding(checks, spec, model);
  const Dtype native = checks.Dtype("native_dtype", spec.native_dtype());
  if (native != Dtype::kUnspecified) model.native_dtype = native;
  if (spec.has_mixture_of_experts()) model.mixture_of_experts = ParseExperts(checks, spec, model.native_dtype);
  CheckCounts(checks, spec);
  if (violations.empty()) CheckParameterCount(checks, spec, model);
  if (!violations.empty()) return InvalidFields(violations);
  return model;
}

}  // namespace foretoken::catalog
