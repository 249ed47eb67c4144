#include "client/cli/huggingface/huggingface.h"

#include <google/protobuf/struct.pb.h>

#include <algorithm>
#include <iterator>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/cli/huggingface/config_reader.h"
#include "client/cli/huggingface/huggingface_families.h"
#include "client/cli/scenario/message_file.h"

namespace foretoken::cli {
namespace {

// Fields that change no count of bytes or operations: settings of training, sampling, numerics and of the rotary
// embedding, and names.
constexpr const char* kWithoutCost[] = {"_name_or_path",
                                        "architectures",
                                        "model_type",
                                        "auto_map",
                                        "transformers_version",
                                        "use_cache",
                                        "initializer_range",
                                        "task_specific_params",
                                        "torch_dtype",
                                        "dtype",
                                        "pretraining_tp",
                                        "unsloth_fixed",
                                        "bos_token_id",
                                        "eos_token_id",
                                        "pad_token_id",
                                        "sep_token_id",
                                        "unk_token_id",
                                        "bos_token",
                                        "eos_token",
                                        "hidden_act",
                                        "hidden_activation",
                                        "activation_function",
                                        "activation",
                                        "rms_norm_eps",
                                        "layer_norm_eps",
                                        "layer_norm_epsilon",
                                        "norm_epsilon",
                                        "rope_theta",
                                        "rope_scaling",
                                        "rope_parameters",
                                        "rope_local_base_freq",
                                        "rotary_pct",
                                        "rotary_emb_base",
                                        "rotary_dim",
                                        "partial_rotary_factor",
                                        "original_max_position_embeddings",
                                        "rope_interleave",
                                        "attention_dropout",
                                        "hidden_dropout",
                                        "resid_pdrop",
                                        "embd_pdrop",
                                        "attn_pdrop",
                                        "dropout",
                                        "classifier_dropout",
                                        "summary_activation",
                                        "summary_first_dropout",
                                        "summary_proj_to_labels",
                                        "summary_type",
                                        "summary_use_proj",
                                        "scale_attn_weights",
                                        "scale_attn_by_inverse_layer_idx",
                                        "reorder_and_upcast_attn",
                                        "attn_logit_softcapping",
                                        "final_logit_softcapping",
                                        "query_pre_attn_scalar",
                                        "cache_implementation",
                                        "router_aux_loss_coef",
                                        "router_jitter_noise",
                                        "output_router_logits",
                                        "norm_topk_prob",
                                        "routed_scaling_factor",
                                        "scoring_func",
                                        "topk_group",
                                        "n_group",
                                        "topk_method",
                                        "seq_aux",
                                        "aux_loss_alpha",
                                        "ep_size",
                                        "num_nextn_predict_layers",
                                        "gradient_checkpointing",
                                        "output_attentions",
                                        "output_hidden_states",
                                        "return_dict",
                                        "embd_layer",
                                        "alibi",
                                        "attention_probs_dropout_prob",
                                        "hidden_dropout_prob",
                                        "is_decoder"};

v1::Dtype TorchDtype(ConfigReader& config) {
  const std::string name = config.Has("torch_dtype") ? config.Text("torch_dtype") : config.Text("dtype");
  if (config.Has("torch_dtype") && config.Has("dtype") && config.Text("dtype") != name) {
    config.Fault("dtype", absl::StrCat("\"", config.Text("dtype"), "\"; torch_dtype is \"", name, "\""));
  }
  if (name.empty()) return v1::DTYPE_UNSPECIFIED;
  if (name == "bfloat16") return v1::DTYPE_BF16;
  if (name == "float16") return v1::DTYPE_FP16;
  if (name == "float32") return v1::DTYPE_FP32;
  config.Fault("torch_dtype", absl::StrCat("\"", name, "\"; allowed: bfloat16, float16, float32"));
  return v1::DTYPE_UNSPECIFIED;
}

// A quantised checkpoint states its own format.
void ReadQuantization(ConfigReader& config, v1::ModelSpec& spec) {
  const google::protobuf::Struct* quantization = config.Object("quantization_config");
  if (quantization == nullptr) return;
  ConfigReader reader(*quantization, "quantization_config.");
  const std::string method = reader.Text("quant_method");
  if (method == "mxfp4" && config.Has("num_local_experts")) {  // the experts alone
    spec.mutable_mixture_of_experts()->set_native_expert_dtype(v1::DTYPE_MXFP4);
    return;
  }
  if (method != "fp8") {
    config.Fault("quantization_config.quant_method",
                 absl::StrCat("\"", method, "\"; allowed: fp8, and mxfp4 of experts"));
    return;
  }
  spec.set_native_dtype(reader.Has("weight_block_size") ? v1::DTYPE_FP8_BLOCK : v1::DTYPE_FP8);
}

absl::StatusOr<google::protobuf::Struct> ParseConfig(const std::string& text, const std::string& file) {
  google::protobuf::Struct config;
  const absl::Status status = ParseMessage(text, file, config);
  if (!status.ok()) return status;
  return config;
}

// Of a model that also sees and hears, the language model: the fields of its text_config, and of the whole what is not
// of the other towers.
google::protobuf::Struct LanguageModel(const google::protobuf::Struct& config) {
  constexpr const char* kTowers[] = {"qwen3_5", "qwen3_5_moe", "gemma4"};
  const auto type = config.fields().find("model_type");
  const auto text = config.fields().find("text_config");
  const bool known = type != config.fields().end() && std::find(std::begin(kTowers), std::end(kTowers),
                                                                type->second.string_value()) != std::end(kTowers);
  if (!known || text == config.fields().end()) return config;
  google::protobuf::Struct language = text->second.struct_value();
  for (const auto& [name, value] : config.fields()) {
    const bool of_tower = absl::EndsWith(name, "_config") && name != "quantization_config";
    const bool of_tokens = absl::EndsWith(name, "_token_id") || absl::EndsWith(name, "_token_index");
    if (!of_tower && !of_tokens && name != "vision_soft_tokens_per_image")
      language.mutable_fields()->insert({name, value});
  }
  return language;
}

void AddSource(const std::string& file, v1::ModelSpec& spec) {
  v1::Source& source = *spec.add_sources();
  source.set_citation(
      absl::StrCat("config.json of the model's Hugging Face repository, read from ", file.substr(file.rfind('/') + 1)));
}

}  // namespace

bool IsHuggingFaceConfig(const std::string& text) {
  if (!LooksLikeJson(text)) return false;
  const absl::StatusOr<google::protobuf::Struct> config = ParseConfig(text, "");
  return config.ok() && (config->fields().contains("model_type") || config->fields().contains("architectures"));
}

absl::StatusOr<v1::ModelSpec> ModelFromHuggingFace(const std::string& text, const std::string& file,
                                                   const std::vector<std::string>& ignore) {
  const absl::StatusOr<google::protobuf::Struct> json = ParseConfig(text, file);
  if (!json.ok()) return json.status();
  const google::protobuf::Struct language = LanguageModel(*json);
  ConfigReader config(language);
  const std::string type = config.Text("model_type");
  const auto family = Families().find(type);
  if (family == Families().end()) {
    std::vector<std::string> known;
    for (const auto& [name, reader] : Families()) known.push_back(name);
    return absl::InvalidArgumentError(
        absl::StrCat(file, ": model_type \"", type, "\"; allowed: ", absl::StrJoin(known, ", ")));
  }
  v1::ModelSpec spec;
  spec.set_family(type);
  spec.set_native_dtype(TorchDtype(config));
  ReadQuantization(config, spec);
  family->second(config, spec);
  config.Ignore({std::begin(kWithoutCost), std::end(kWithoutCost)});
  const absl::Status status = config.Finish(file, ignore);
  if (!status.ok()) return status;
  AddSource(file, spec);
  return spec;
}

}  // namespace foretoken::cli
