#include "estimator/scenario/memory.h"

#include <gtest/gtest.h>

#include "tests/estimator/fixtures.h"

namespace foretoken {
namespace {

// LLaMA-13B's cache: 40 layers, 40 heads of 128.
Model Llama13b() {
  return {.id = "llama-13b",
          .num_hidden_layers = 40,
          .hidden_size = 5120,
          .num_attention_heads = 40,
          .num_key_value_heads = 40,
          .head_dim = 128,
          .intermediate_size = 13824,
          .vocab_size = 32000};
}

TEST(MemoryTest, KvBytesPerToken) {
  Model mqa = Llama2_7b();
  mqa.num_key_value_heads = 1;
  struct Case {
    const char* name;
    Model model;
    Dtype dtype;
    double want;
  };
  const Case cases[] = {
      {"MHA, 13B: 2 * 40 * 5120 * 2", Llama13b(), Dtype::kFp16, 819200},
      {"MHA, 7B: 2 * 32 * 4096 * 2", Llama2_7b(), Dtype::kBf16, 524288},
      {"MHA in fp8: half of it", Llama2_7b(), Dtype::kFp8, 262144},
      {"GQA, 70B: 2 * 80 * 8 * 128 * 2", Llama31_70b(), Dtype::kBf16, 327680},
      {"MQA: 2 * 32 * 128 * 2", mqa, Dtype::kBf16, 16384},
      {"MLA: 27 * (512 + 64) * 2", DeepseekV2Lite(), Dtype::kBf16, 31104},
      {"a block format: 4.5 bits an element", Llama2_7b(), Dtype::kQ4_0, 147456},
  };
  for (const Case& c : cases) EXPECT_EQ(KvBytesPerToken(c.model, c.dtype).value(), c.want) << c.name;
}

// 13B in fp16 on 40 GB: 14 GB are left beside 26 GB of weights.
TEST(MemoryTest, TokensAndSequencesThatFit) {
  const double by_source = TokensThatFit(Gigabytes(40), Gigabytes(26), Bytes(1e6));
  EXPECT_EQ(by_source, 14000);  // the source's 1 MB a token
  EXPECT_NEAR(by_source / 2048, 6.84, 0.005);
  EXPECT_EQ(SequencesThatFit(by_source, 2048), 6);  // the source writes 7
  const double exact = TokensThatFit(Gigabytes(40), Gigabytes(26), Bytes(819200));
  EXPECT_EQ(exact, 17089);
  EXPECT_EQ(SequencesThatFit(exact, 2048), 8);
  EXPECT_EQ(TokensThatFit(Gigabytes(24), Gigabytes(26), Bytes(819200)), 0);
}

// 312e12 * 2 / (2 * BW).
TEST(MemoryTest, ComputeBoundBatchOfWeights) {
  EXPECT_NEAR(ComputeBoundBatch(Teraflops(312), GigabytesPerSecond(1555), Bytes(2)), 200.6, 0.05);  // 201
  EXPECT_NEAR(ComputeBoundBatch(Teraflops(312), GigabytesPerSecond(2039), Bytes(2)), 153.0, 0.05);
  EXPECT_NEAR(ComputeBoundBatch(Teraflops(312), GigabytesPerSecond(2039), Bytes(0.5)), 38.25,
              0.01);  // 4 bits: a quarter
}

DecodeBalance Llama13bOnA100(double context) {
  return {.parameters = 13e9,
          .per_weight = Bytes(2),
          .context = context,
          .kv_per_token = Bytes(819200),
          .peak = Teraflops(312),
          .bandwidth = GigabytesPerSecond(1555)};
}

// 2N/P = 83.33 us a sequence; its KV takes 0.5268 us a token to read: from 158.2 tokens on it never pays.
TEST(MemoryTest, ComputeBoundBatchWithKvCache) {
  EXPECT_NEAR(*ComputeBoundBatch(Llama13bOnA100(0)), 200.6, 0.05);
  EXPECT_NEAR(*ComputeBoundBatch(Llama13bOnA100(100)), 545.4, 0.1);
  EXPECT_TRUE(ComputeBoundBatch(Llama13bOnA100(158)).has_value());
  EXPECT_FALSE(ComputeBoundBatch(Llama13bOnA100(159)).has_value());
}

// At B* a step takes as long to read as to compute.
TEST(MemoryTest, ComputeBoundBatchBalances) {
  for (const double context : {0.0, 1.0, 50.0, 150.0}) {
    const DecodeBalance step = Llama13bOnA100(context);
    const double batch = *ComputeBoundBatch(step);
    const Seconds read = (Gigabytes(26) + batch * context * step.kv_per_token) / step.bandwidth;
    const Seconds compute = Flops(2 * 13e9 * batch) / step.peak;
    EXPECT_NEAR(read / compute, 1, 1e-9) << context;
  }
}

// 7B in fp16 at 14 ms a token moves 1 TB/s.
TEST(MemoryTest, ModelBandwidthUtilization) {
  EXPECT_NEAR(ModelBandwidthUtilization(Gigabytes(14), Bytes(0), Seconds(0.014), GigabytesPerSecond(2000)), 0.5, 1e-12);
  EXPECT_NEAR(ModelBandwidthUtilization(Gigabytes(14), Gigabytes(7), Seconds(0.014), GigabytesPerSecond(2000)), 0.75,
              1e-12);
}

// 16,384^2 * 40 * 2 = 21.47 GB.
TEST(MemoryTest, NaiveAttentionScores) { EXPECT_EQ(NaiveAttentionScores(16384, 40, Bytes(2)).value(), 21474836480.0); }

}  // namespace
}  // namespace foretoken
