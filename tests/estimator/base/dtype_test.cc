#include "estimator/base/dtype.h"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string_view>

#include "estimator/methods/operator_model.h"
#include "estimator/step/step_model.h"
#include "tests/estimator/fixtures.h"

namespace foretoken {
namespace {

TEST(DtypeTest, EachHasItsName) {
  std::set<std::string_view> names;
  for (int i = 0; i <= static_cast<int>(Dtype::kQ4_K_M); ++i) names.insert(DtypeName(static_cast<Dtype>(i)));
  EXPECT_EQ(names.size(), static_cast<size_t>(Dtype::kQ4_K_M) + 1);
  EXPECT_EQ(DtypeName(Dtype::kFp8Block), "fp8_block");
  EXPECT_EQ(DtypeName(Dtype::kQ4_K_M), "q4_k_m");
}

TEST(DtypeTest, BytesCountBlockScales) {
  EXPECT_EQ(BytesPerElement(Dtype::kFp32), Bytes(4));
  EXPECT_EQ(BytesPerElement(Dtype::kInt4), Bytes(0.5));
  EXPECT_EQ(BytesPerElement(Dtype::kNvfp4), Bytes(4.5 / 8));
  EXPECT_EQ(BytesPerElement(Dtype::kMxfp4), Bytes(4.25 / 8));
  EXPECT_EQ(BytesPerElement(Dtype::kQ8_0), Bytes(8.5 / 8));
  EXPECT_EQ(BytesPerElement(Dtype::kQ4_0), Bytes(4.5 / 8));
  EXPECT_EQ(BytesPerElement(Dtype::kQ4_K_M), Bytes(4.85 / 8));
}

TEST(ResolveDtypesTest, Defaults) {
  struct Case {
    Dtype native;
    Placement given;
    Dtype weight, activation, kv;
  };
  const Case cases[] = {
      {Dtype::kBf16, {}, Dtype::kBf16, Dtype::kBf16, Dtype::kBf16},
      {Dtype::kFp16, {}, Dtype::kFp16, Dtype::kFp16, Dtype::kFp16},
      {Dtype::kFp32, {}, Dtype::kBf16, Dtype::kBf16, Dtype::kBf16},
      {Dtype::kFp32, {.weight_dtype = Dtype::kFp32}, Dtype::kFp32, Dtype::kFp32, Dtype::kFp32},
      {Dtype::kFp8, {}, Dtype::kFp8, Dtype::kFp8, Dtype::kBf16},
      {Dtype::kFp8Block, {}, Dtype::kFp8Block, Dtype::kFp8, Dtype::kBf16},
      {Dtype::kBf16, {.weight_dtype = Dtype::kInt4}, Dtype::kInt4, Dtype::kBf16, Dtype::kBf16},
      {Dtype::kBf16, {.weight_dtype = Dtype::kQ4_0}, Dtype::kQ4_0, Dtype::kBf16, Dtype::kBf16},
      {Dtype::kBf16,
       {.weight_dtype = Dtype::kInt4, .activation_dtype = Dtype::kInt8},
       Dtype::kInt4,
       Dtype::kInt8,
       Dtype::kBf16},
      {Dtype::kBf16, {.kv_cache_dtype = Dtype::kFp8}, Dtype::kBf16, Dtype::kBf16, Dtype::kFp8},
  };
  for (const Case& c : cases) {
    Model model = Llama2_7b();
    model.native_dtype = c.native;
    Placement placement = c.given;
    ResolveDtypes(model, placement);
    EXPECT_EQ(DtypeName(placement.weight_dtype), DtypeName(c.weight));
    EXPECT_EQ(DtypeName(placement.activation_dtype), DtypeName(c.activation));
    EXPECT_EQ(DtypeName(placement.kv_cache_dtype), DtypeName(c.kv));
  }
}

// 1,000 tokens of Llama-2-7B (hidden size 4,096, MLP 11,008, vocabulary 32,000) in fp8 on 2 devices. Matrices read one
// byte an element and give two; norms and the gate write one for the next matrix; the KV cache has two; all else has
// two.
TEST(ResidualTest, StaysIn16Bits) {
  const Model model = Llama2_7b();
  const Hardware hardware = A100();
  Scenario scenario = MakeScenario(model, hardware, 1, 1000, 2);
  scenario.deployment.tensor_parallel = 2;
  scenario.deployment.weight_dtype = scenario.deployment.activation_dtype = Dtype::kFp8;
  const StepModel step = *MakeStepModel(scenario, GenericPrior(), nullptr);
  std::map<OperatorKind, OperatorCost> costs;
  const StepShape prompt{.prefill_sequences = 1, .prefill_tokens = 1000, .logits_rows = 1};
  for (const OperatorCost& cost : StepOperators(step, prompt)) costs[cost.kind] = cost;
  const double layers = 32, d = 4096, width = 11008 / 2, vocab = 32000 / 2;
  EXPECT_EQ(costs[OperatorKind::kMlpDown].bytes, layers * Bytes(d * width + 1000 * (width + 2 * d)));
  EXPECT_EQ(costs[OperatorKind::kElementwise].bytes,
            1000 * layers * Bytes(2 * d * (2 + 1) + width * (2 * 2 + 1) + 2 * d / 2 * 2));
  EXPECT_EQ(costs[OperatorKind::kAllReduce].sent, 2 * layers * Bytes(1000 * d * 2));
  EXPECT_EQ(costs[OperatorKind::kLmHead].bytes, Bytes(2 * (vocab * d + vocab + d)));
  EXPECT_EQ(costs[OperatorKind::kLogitsGather].sent, Bytes(vocab * 2));
  EXPECT_EQ(step.shard.residual, BytesPerElement(Dtype::kBf16));
  scenario.deployment.activation_dtype = Dtype::kFp32;
  EXPECT_EQ(MakeStepModel(scenario, GenericPrior(), nullptr)->shard.residual, BytesPerElement(Dtype::kFp32));
}

}  // namespace
}  // namespace foretoken
