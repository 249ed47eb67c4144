// What the models of 2025 and 2026 keep of a token and of a sequence, against figures worked out by hand or published.
#include <gtest/gtest.h>

#include "estimator/scenario/layers.h"
#include "estimator/scenario/memory.h"
#include "tests/estimator/random_scenarios.h"

namespace foretoken {
namespace {

const Model& ById(const std::string& id) {
  for (const Model& model : Bundled().models) {
    if (model.id == id) return model;
  }
  ADD_FAILURE() << id << " is not estimated";
  return Bundled().models.front();
}

struct Case {
  const char* id;
  double parameters;       // 0: not published beside the catalog's entry
  double kv_bytes;         // of a token, cache in bf16
  double state_bytes = 0;  // of a sequence
};

// Recurrent layers keep value heads x key size x value size in fp32, and 3 tokens of queries, keys and values in bf16.
constexpr Case kCases[] = {
    // 12 of 48 layers: 2 x 2 x 256. 36 layers: 32 x 128 x 128 x 4 + 3 x (2 x 16 x 128 + 32 x 128) x 2.
    {"qwen3-next-80b-a3b", 79'674'391'296, 24'576, 77'266'944},
    // 15 of 60 layers; 45 layers with 64 value heads.
    {"qwen3.5-397b-a17b", 396'346'350'336, 30'720, 192'061'440},
    // 16 of 64 layers: 2 x 4 x 256. 48 layers with 48 value heads: between 140 and 160 MiB, as others find.
    {"qwen3.5-27b", 26'895'998'464, 65'536, 153'944'064},
    // 8 of 32 layers: 2 x 4 x 256. 24 layers with 32 value heads.
    {"qwen3.5-9b", 8'953'803'264, 32'768, 51'511'296},
    // 12 of 48 layers: 2 x 2 x 256. 36 layers with 64 value heads.
    {"qwen3.5-122b-a10b", 122'111'526'912, 24'576, 153'649'152},
    // 6 of 52 layers: 2 x 2 x 128. 23 layers: 64 x 128 x 64 x 4 + 3 x (2 x 8 x 128 + 64 x 64) x 2.
    {"nemotron-3-nano-30b-a3b", 31'577'940'288, 6'144, 49'082'368},
    // As the safetensors of its checkpoint have: 123,611,033,088 without 2,942,324,736 of multi-token prediction and the
    // 512 biases of that layer's router.
    {"nemotron-3-super-120b-a12b", 120'668'707'840, 8'192, 170'229'760},
    // 10 of 118 layers: 2 x 8 x 128. 54 layers: 256 x 256 x 64 x 4 + 3 x (2 x 8 x 256 + 256 x 64) x 2.
    {"nemotron-h-56b", 56'324'350'464, 40'960, 912'605'184},
    // 7 of 27 layers: 512 + 64. 20 layers: 32 x 128 x 128 x 4 + 3 x 3 x 32 x 128 x 2.
    {"kimi-linear-48b-a3b", 49'122'681'728, 8'064, 43'417'600},
    // 4 of 40 layers: 2 x 8 x 128. 36 layers: 128 x 128 x 64 x 4 + 3 x (2 x 128 + 128 x 64) x 2.
    {"granite-4.0-h-small", 32'207'337'984, 16'384, 152'819'712},
    // 44 layers of both kinds: 2 x 2 x 128, and 24 x 256 x 128 x 4 + 3 x (2 x 256 + 24 x 128) x 2.
    {"falcon-h1-7b", 7'585'513'568, 45'056, 139'358'208},
    // 61 layers: (512 + 64) x 2, and an indexer's key of 128 + 4.
    {"deepseek-v3.2", 671'877'944'064, 78'324},
    {"glm-5", 743'911'218'432, 100'152},
    // 50 layers with a window: 2 x 16 x 256; 10 without: 2 x 4 x 512. The text of 31,273,088,876 published parameters
    // without a scale per layer: 29,288,059,136 + 1,409,286,144.
    {"gemma-4-31b", 30'697'345'280, 901'120},
    // 12 layers with a window: 2 x 256; 3 without: 2 x 512. The others keep nothing.
    {"gemma-4-e2b", 4'628'569'344, 18'432},
    // An entry of 512 elements: 30 layers keep one of 4 tokens with a key of 132, 31 one of 128. 61 windows of 128.
    {"deepseek-v4-pro", 1'572'997'202'915, 8'918, 7'995'392},
    {"deepseek-v4-flash", 284'332'241'239, 6'229, 5'636'096},
};

TEST(PublishedModelsTest, ParametersCacheAndState) {
  for (const Case& c : kCases) {
    const Model& model = ById(c.id);
    EXPECT_EQ(CountParameters(model).Total(), c.parameters) << c.id;
    EXPECT_EQ(KvBytesPerToken(model, Dtype::kBf16).value(), c.kv_bytes) << c.id;
    EXPECT_EQ(StateBytesPerSequence(model, Dtype::kBf16).value(), c.state_bytes) << c.id;
  }
}

// With its layer for multi-token prediction: a layer like the others, a projection of two hidden states, three norms.
TEST(PublishedModelsTest, CheckpointsAddAModuleForMultiTokenPrediction) {
  const Model& qwen = ById("qwen3-next-80b-a3b");
  const ParameterCounts counts = CountParameters(qwen);
  const double d = 2048;
  const double attention = d * (2 * 16 * 256 + 2 * 2 * 256 + 16 * 256) + 2 * 256;
  const double experts = 512 * counts.expert + counts.shared_experts_per_layer + counts.router_per_layer;
  EXPECT_EQ(counts.Total() + attention + experts + 2 * d + 2 * d * d + 3 * d, 81'324'862'720);
  const Model& glm = ById("glm-5");
  const ParameterCounts of = CountParameters(glm);
  const double layer = of.attention / 78 + 256 * of.expert + of.shared_experts_per_layer + of.router_per_layer;
  EXPECT_EQ(of.Total() + layer + 2 * 6144 + 2 * 6144.0 * 6144 + 3 * 6144, 753'864'139'008);
}

// The published checkpoint has 19,306,216,416 bytes: 2 a parameter, of which 456,010,480 are of the vision tower, and 4
// for the decays and norms of recurrent layers.
TEST(PublishedModelsTest, TheCheckpointOfQwen3_5_9B) {
  const ParameterCounts counts = CountParameters(ById("qwen3.5-9b"));
  const double d = 4096;
  const double prediction = counts.attention / 8 + counts.dense_mlp_per_layer + 2 * d + 2 * d * d + 3 * d;
  const double in_fp32 = 24 * (32 + 128);
  EXPECT_EQ(2 * (counts.Total() + prediction + 456'010'480 + in_fp32), 19'306'216'416);
}

// A million tokens of DeepSeek-V4-Pro take 9.62 GiB in bf16, as published, where the indexer's keys are in bf16 too:
// 256 bytes in place of 132.
TEST(PublishedModelsTest, AMillionTokensOfDeepSeekV4) {
  const Model& model = ById("deepseek-v4-pro");
  const double in_bf16 = KvBytesPerToken(model, Dtype::kBf16).value() + 30.0 / 4 * (256 - 132);
  EXPECT_NEAR(in_bf16 * 1048576 / (1 << 30), 9.62, 0.005);
}

// 64 value heads and 8 groups of keys over 8 devices; gates of low rank are on each.
TEST(LayersTest, InputsOfARecurrentLayer) {
  LinearAttention linear{.type = LinearAttentionType::kGatedDeltaNet,
                         .num_key_heads = 16,
                         .num_value_heads = 32,
                         .key_head_dim = 128,
                         .value_head_dim = 128,
                         .conv_kernel_size = 4};
  EXPECT_EQ(RecurrentInputsOf(linear).width, 2 * 2048 + 2 * 4096 + 2 * 32);
  EXPECT_EQ(StateElements(linear), 524'288);
  EXPECT_EQ(ConvolutionElements(linear), 3 * 8192);
  linear.type = LinearAttentionType::kMamba2;
  EXPECT_EQ(RecurrentInputsOf(linear).width, 2 * 2048 + 2 * 4096 + 32);
  linear.type = LinearAttentionType::kKimiDeltaAttention;
  linear.num_key_heads = 32;
  EXPECT_EQ(RecurrentInputsOf(linear).width, 3 * 4096 + 32 + 2 * 128);
  EXPECT_EQ(RecurrentInputsOf(linear).Elements(2304), 2304.0 * (3 * 4096 + 32 + 256) + 128 * 2 * 4096);
}

}  // namespace
}  // namespace foretoken
