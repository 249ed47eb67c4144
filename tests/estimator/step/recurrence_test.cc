// Recurrent layers and indexers by hand.
#include "estimator/step/recurrence.h"

#include <gtest/gtest.h>

#include "estimator/step/step_model.h"
#include "tests/estimator/random_scenarios.h"

namespace foretoken {
namespace {

const Model& ById(const std::string& id) {
  for (const Model& model : Bundled().models) {
    if (model.id == id) return model;
  }
  ADD_FAILURE() << id;
  return Bundled().models.front();
}

// One operator of a step of the model on one device with everything in bf16.
OperatorCost CostOf(const std::string& id, OperatorKind kind, const StepShape& shape,
                    const Efficiencies& efficiencies = GenericPrior()) {
  Placement placement;
  placement.weight_dtype = placement.activation_dtype = placement.kv_cache_dtype = Dtype::kBf16;
  Hardware hardware{.id = "h"};
  hardware.memory_bandwidth = GigabytesPerSecond(3350);
  hardware.memory_capacity = Gigabytes(80);
  hardware.peak = {.fp32 = Teraflops(67), .bf16 = Teraflops(989), .fp8 = Teraflops(1979)};
  const StepModelInputs inputs{
      .model = &ById(id), .hardware = &hardware, .efficiencies = &efficiencies, .placement = placement};
  const StepModel model = *MakeStepModel(inputs, nullptr);
  for (const OperatorCost& cost : StepOperators(model, shape)) {
    if (cost.kind == kind) return cost;
  }
  ADD_FAILURE() << "no such operator in " << id;
  return {};
}

// Qwen3-Next, 36 layers: 32 states of 128 x 128 in fp32 read and written, 3 x 8,192 elements of the convolution in 16
// bits likewise, and queries, keys, values and outputs of the token.
TEST(RecurrenceTest, ATokenReadsAndWritesTheState) {
  const OperatorCost cost =
      CostOf("qwen3-next-80b-a3b", OperatorKind::kDecodeRecurrence, {.decode_sequences = 1, .decode_context = 1000});
  const double bytes = 2 * 2'097'152 + 2 * 49'152 + (8192 + 4096) * 2;
  EXPECT_EQ(bytes, 4'317'184);
  EXPECT_EQ(cost.bytes.value(), 36 * bytes);
  EXPECT_EQ(cost.flops.value(), 36.0 * 7 * 32 * 128 * 128);
  EXPECT_NEAR(cost.memory.value() / 36, 1.5716e-6, 1e-10);  // at 0.82 of 3,350 GB/s
}

// To verify 3 drafted tokens, the state passes memory 1 + 4 times.
TEST(RecurrenceTest, VerificationWritesTheStateOfEachToken) {
  const OperatorCost cost = CostOf("qwen3-next-80b-a3b", OperatorKind::kDecodeRecurrence,
                                   {.decode_sequences = 1, .decode_context = 1000, .decode_tokens = 4});
  EXPECT_EQ(cost.bytes.value(), 36 * (5 * 2'097'152 + 2 * 49'152 + 4 * (8192 + 4096) * 2.0));
}

// 8,192 tokens of Qwen3-Next in chunks of 64: 5,767,168 FLOPs and 77,824 elements a token and layer.
TEST(RecurrenceTest, APromptInChunks) {
  const OperatorCost cost =
      CostOf("qwen3-next-80b-a3b", OperatorKind::kPrefillRecurrence, {.prefill_sequences = 1, .prefill_tokens = 8192});
  const double flops = 32.0 * (2 * 64 * (3 * 128 + 2 * 128) + 6 * 128 * 128);
  const double elements = 32.0 * (7 * 128 + 6 * 128 + 4 * 64 + 2 * 128 * 128 / 64);
  EXPECT_EQ(flops, 5'767'168);
  EXPECT_EQ(elements, 77'824);
  EXPECT_EQ(cost.flops.value(), 36 * 8192 * flops);
  EXPECT_EQ(cost.bytes.value(), 36 * (8192 * elements * 2 + 2 * 2'097'152 + 2 * 49'152));
  EXPECT_NEAR(cost.compute.value() / 36, 0.5037e-3, 1e-7);  // at 1.4 of 67 TFLOP/s
  EXPECT_NEAR(cost.memory.value() / 36, 0.4657e-3, 1e-7);
}

// The least of any kernel: 5 or 7 FLOPs an element of the state; queries, keys, values and outputs once.
TEST(RecurrenceTest, TheSpeedOfLightPassesMemoryOnce) {
  const OperatorCost cost = CostOf("nemotron-3-nano-30b-a3b", OperatorKind::kPrefillRecurrence,
                                   {.prefill_sequences = 1, .prefill_tokens = 4096}, SpeedOfLight());
  const double state = 64.0 * 128 * 64;
  const double chunks = 8 * 2.0 * 128 * 128 + 64 * (2.0 * 128 * 64 + 4 * 128 * 64);
  EXPECT_EQ(cost.flops.value(), 23 * 4096 * std::min(5 * state, chunks));
  EXPECT_EQ(cost.bytes.value(), 23 * (4096 * (6144 + 4096) * 2 + 2 * state * 4 + 2 * 3 * 6144 * 2.0));
}

// DeepSeek-V3.2 at 32,768 tokens: 64 heads of 128 over each, whose key has 132 bytes and whose score passes memory
// twice. Attention sees 2,048 of them.
TEST(IndexerTest, ScoresTheWholeContext) {
  const StepShape shape{.decode_sequences = 1, .decode_context = 32768};
  const OperatorCost scores = CostOf("deepseek-v3.2", OperatorKind::kDecodeIndexer, shape);
  EXPECT_EQ(scores.flops.value(), 61 * 2.0 * 32768 * 64 * 128);
  EXPECT_EQ(scores.bytes.value(), 61 * 32768 * (132.0 + 8));
  const OperatorCost attention = CostOf("deepseek-v3.2", OperatorKind::kDecodeAttention, shape);
  EXPECT_EQ(attention.flops.value(), 61 * 2.0 * 2048 * 128 * (576 + 512));
  EXPECT_EQ(attention.bytes.value(), 61 * 2048 * 576 * 2.0);
}

// A prompt of 1,000 tokens has 500,500 pairs to score; attention computes all 2,048 slots of each token.
TEST(IndexerTest, APromptFillsItsSlotsOrNot) {
  const StepShape shape{.prefill_sequences = 1, .prefill_tokens = 1000};
  const OperatorCost scores = CostOf("deepseek-v3.2", OperatorKind::kPrefillIndexer, shape);
  EXPECT_EQ(scores.flops.value(), 61 * 2.0 * 500'500 * 64 * 128);
  const OperatorCost attention = CostOf("deepseek-v3.2", OperatorKind::kPrefillAttention, shape);
  EXPECT_EQ(attention.flops.value(), 61 * 2.0 * 1000 * 2048 * 128 * (576 + 512));
}

}  // namespace
}  // namespace foretoken
