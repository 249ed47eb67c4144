#include "client/cli/huggingface/huggingface.h"

#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <google/protobuf/util/message_differencer.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "tests/client/cli/huggingface/huggingface_configs.h"
#include "tests/paths.h"

namespace foretoken::cli {
namespace {

using testing::HasSubstr;

v1::ModelSpec CatalogEntry(const std::string& id) {
  std::ifstream file(SourcePath("catalogs/models/") + id + ".textproto");
  const std::string text(std::istreambuf_iterator<char>(file), {});
  v1::ModelSpec spec;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &spec)) << id;
  return spec;
}

// Without what a config.json does not say, and with what it says by silence spelled out.
v1::ModelSpec Comparable(v1::ModelSpec spec) {
  for (const char* field : {"id", "hf_id", "aliases", "family", "parameter_count", "active_parameter_count", "sources",
                            "notes", "unsupported_reason"}) {
    spec.GetReflection()->ClearField(&spec, spec.GetDescriptor()->FindFieldByName(field));
  }
  if (spec.attention_type() != v1::ATTENTION_TYPE_MLA) spec.clear_attention_type();
  if (!spec.has_head_dim()) spec.set_head_dim(spec.hidden_size() / spec.num_attention_heads());
  if (spec.attention_type() == v1::ATTENTION_TYPE_MLA) spec.clear_head_dim();
  if (!spec.has_num_key_value_heads()) spec.set_num_key_value_heads(spec.num_attention_heads());
  return spec;
}

TEST(HuggingFaceTest, GivesWhatTheCatalogHas) {
  for (const Config& config : kConfigs) {
    ASSERT_TRUE(IsHuggingFaceConfig(config.json)) << config.catalog_id;
    const auto spec = ModelFromHuggingFace(config.json, "config.json", {});
    ASSERT_TRUE(spec.ok()) << config.catalog_id << ": " << spec.status();
    v1::ModelSpec got = Comparable(*spec);
    const v1::ModelSpec want = Comparable(CatalogEntry(config.catalog_id));
    if (!got.has_max_position_embeddings()) got.set_max_position_embeddings(want.max_position_embeddings());
    std::string differences;
    google::protobuf::util::MessageDifferencer differencer;
    differencer.ReportDifferencesToString(&differences);
    EXPECT_TRUE(differencer.Compare(want, got)) << config.catalog_id << "\n" << differences;
  }
}

TEST(HuggingFaceTest, Gpt2) {
  const auto spec = ModelFromHuggingFace(
      R"({"model_type": "gpt2", "n_ctx": 1024, "n_embd": 768, "n_head": 12, "n_layer": 12, "n_positions": 1024,
          "activation_function": "gelu_new", "resid_pdrop": 0.1, "vocab_size": 50257})",
      "config.json", {});
  ASSERT_TRUE(spec.ok()) << spec.status();
  EXPECT_EQ(spec->intermediate_size(), 3072);
  EXPECT_EQ(spec->learned_position_rows(), 1024);
  EXPECT_TRUE(spec->tie_word_embeddings());
  EXPECT_EQ(spec->mlp_matrices(), 2);
  EXPECT_EQ(spec->norm_type(), v1::NORM_TYPE_LAYERNORM);
}

constexpr char kLlama[] =
    R"("model_type": "llama", "hidden_size": 64, "intermediate_size": 128, "num_attention_heads": 4,
       "num_hidden_layers": 2, "vocab_size": 100)";

TEST(HuggingFaceTest, WhatIsNotUnderstoodIsNamed) {
  struct Case {
    const char* name;
    std::string json;
    const char* want;
  };
  const std::string llama = kLlama;
  const Case cases[] = {
      {"another architecture", R"({"model_type": "mamba"})", "model_type \"mamba\"; allowed: deepseek_v2"},
      {"a new field", "{" + llama + R"(, "num_memory_tokens": 4})", "num_memory_tokens: is not understood"},
      {"two of them", "{" + llama + R"(, "b_new": 4, "a_new": "x"})",
       "a_new: is not understood; b_new: is not understood"},
      {"a missing field", R"({"model_type": "llama", "hidden_size": 64})", "num_hidden_layers: is missing"},
      {"a field of the wrong kind", "{" + llama + R"(, "num_key_value_heads": "two"})",
       "num_key_value_heads: a whole number is needed"},
      {"quantisation", "{" + llama + R"(, "quantization_config": {"quant_method": "awq"}})",
       "quantization_config.quant_method: \"awq\"; allowed: fp8, and mxfp4 of experts"},
      {"experts' quantisation without experts", "{" + llama + R"(, "quantization_config": {"quant_method": "mxfp4"}})",
       "quantization_config.quant_method: \"mxfp4\"; allowed: fp8, and mxfp4 of experts"},
      {"a kind of layer",
       R"({"model_type": "qwen3", "layer_types": ["full_attention", "linear_attention"], "hidden_size": 64})",
       "layer_types: \"linear_attention\"; allowed: full_attention, sliding_attention"},
      {"kinds of layers that are not all", R"({"model_type": "qwen3", "layer_types": ["full_attention"]})",
       "layer_types: 1 entries; num_hidden_layers is 0"},
      {"a pattern", R"({"model_type": "gemma3_text", "sliding_window_pattern": 0})",
       "sliding_window_pattern: 0; allowed from 1"},
      {"two dtypes", "{" + llama + R"(, "torch_dtype": "bfloat16", "dtype": "float32"})",
       "dtype: \"float32\"; torch_dtype is \"bfloat16\""},
      {"a dtype", "{" + llama + R"(, "torch_dtype": "float8"})", "torch_dtype: \"float8\"; allowed: bfloat16"},
      {"not JSON", "{\"model_type\": ", "config.json: "},
  };
  for (const Case& c : cases) {
    const absl::Status status = ModelFromHuggingFace(c.json, "config.json", {}).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << c.name;
    EXPECT_THAT(std::string(status.message()), HasSubstr(c.want)) << c.name;
  }
}

TEST(HuggingFaceTest, LayerTypesCountTheLayersThatSeeEverything) {
  const auto spec = ModelFromHuggingFace(
      R"({"model_type": "qwen2", "hidden_size": 64, "intermediate_size": 128, "num_attention_heads": 4,
          "num_hidden_layers": 3, "layer_types": ["full_attention", "sliding_attention", "sliding_attention"],
          "max_window_layers": 2, "use_sliding_window": true, "sliding_window": 512, "vocab_size": 100})",
      "config.json", {});
  ASSERT_TRUE(spec.ok()) << spec.status();
  EXPECT_EQ(spec->sliding_window().window_tokens(), 512);
  EXPECT_EQ(spec->sliding_window().num_full_attention_layers(), 1);
}

TEST(HuggingFaceTest, WhatIsSwitchedOffOrVouchedForIsFine) {
  const std::string llama = kLlama;
  EXPECT_TRUE(
      ModelFromHuggingFace("{" + llama + R"(, "new_switch": false, "new_list": [], "new_null": null})", "c", {}).ok());
  EXPECT_TRUE(ModelFromHuggingFace("{" + llama + R"(, "mystery": 4})", "c", {"mystery"}).ok());
}

TEST(HuggingFaceTest, AModelSpecIsNotAConfig) {
  EXPECT_FALSE(IsHuggingFaceConfig(R"({"id": "m", "hidden_size": 64})"));
  EXPECT_FALSE(IsHuggingFaceConfig("id: \"m\""));
}

}  // namespace
}  // namespace foretoken::cli
