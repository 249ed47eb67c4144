// Rules of thumb that practitioners published, as the operator model finds them.
#include <gtest/gtest.h>

#include "estimator/methods/estimator.h"
#include "tests/estimator/fixtures.h"

namespace foretoken {
namespace {

Estimate Of(const Scenario& scenario) {
  absl::StatusOr<Estimate> estimate = ComputeEstimate(scenario);
  EXPECT_TRUE(estimate.ok()) << estimate.status();
  return estimate.ok() ? *std::move(estimate) : Estimate{};
}

// The rules of thumb of "LLM inference performance engineering: best practices" [S3].
TEST(HeuristicTest, HoldAsPublished) {
  Model mpt7b = {.id = "mpt-7b",
                 .num_hidden_layers = 32,
                 .hidden_size = 4096,
                 .num_attention_heads = 32,
                 .num_key_value_heads = 32,
                 .head_dim = 128,
                 .intermediate_size = 16384,
                 .vocab_size = 50432,
                 .tie_word_embeddings = true,
                 .mlp_matrices = 2};
  Model mpt30b = mpt7b;
  mpt30b.num_hidden_layers = 48;
  mpt30b.hidden_size = 7168;
  mpt30b.num_attention_heads = mpt30b.num_key_value_heads = 64;
  mpt30b.head_dim = 112;
  mpt30b.intermediate_size = 28672;
  const Hardware hardware = A100();
  const auto e2e = [&](const Model& model, int batch, int prompt, int output) {
    return Of(MakeScenario(model, hardware, batch, prompt, output)).e2e.time.value();
  };
  // 512 more prompt tokens cost less than 8 more output tokens.
  EXPECT_LT(e2e(mpt7b, 1, 1024, 64) - e2e(mpt7b, 1, 512, 64), e2e(mpt7b, 1, 512, 72) - e2e(mpt7b, 1, 512, 64));
  // Latency grows less than the parameters, 4.51 times as many.
  EXPECT_LT(e2e(mpt30b, 1, 512, 64) / e2e(mpt7b, 1, 512, 64), 4.51);
  // Decode dominates long outputs.
  const Estimate longer = Of(MakeScenario(mpt7b, hardware, 1, 512, 512));
  EXPECT_GT(longer.decode.time.value(), 10 * longer.prefill.time.value());
  // Throughput rises with the batch while each request slows.
  const Estimate alone = Of(MakeScenario(mpt7b, hardware, 1, 512, 64));
  const Estimate crowd = Of(MakeScenario(mpt7b, hardware, 32, 512, 64));
  EXPECT_GT(crowd.throughput.output_tokens_per_second, 4 * alone.throughput.output_tokens_per_second);
  EXPECT_GT(crowd.tpot.time.value(), alone.tpot.time.value());
  // Tensor parallelism helps relatively more at a larger batch.
  const auto tpot = [&](int batch, int tp) {
    Scenario scenario = MakeScenario(mpt30b, hardware, batch, 2048, 64);
    scenario.deployment.tensor_parallel = tp;
    return Of(scenario).tpot.time.value();
  };
  EXPECT_GT(tpot(16, 2) / tpot(16, 4), tpot(1, 2) / tpot(1, 4));
}

}  // namespace
}  // namespace foretoken
