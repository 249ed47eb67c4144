#include "client/cli/scenario/field_path.h"

#include <gtest/gtest.h>

#include "client/cli/text/enum_text.h"
#include "foretoken/v1/scenario.pb.h"

namespace foretoken::cli {
namespace {

TEST(SetFieldTest, OfEveryKind) {
  struct Case {
    const char* path;
    const char* text;
    const char* want;
  };
  const Case cases[] = {
      {"model_id", "llama", "model_id: \"llama\""},
      {"workload.batch_size", "8", "workload { batch_size: 8 }"},
      {"workload.batch_size", "-3", "workload { batch_size: -3 }"},  // the server's to judge
      {"workload.batch_size", "0", "workload { batch_size: 0 }"},    // zero is not absent
      {"workload.prompt_tokens", "1e6", "workload { prompt_tokens: 1000000 }"},
      {"live_load.queued_prefill_tokens", "5000000000", "live_load { queued_prefill_tokens: 5000000000 }"},
      {"deployment.scale_out_bytes_per_second", "50e9", "deployment { scale_out_bytes_per_second: 50000000000 }"},
      {"deployment.roofline_exponent", "inf", "deployment { roofline_exponent: inf }"},
      {"slo.max_ttft_seconds", "200ms", "slo { max_ttft_seconds: 0.2 }"},
      {"slo.max_e2e_seconds", "1.5", "slo { max_e2e_seconds: 1.5 }"},
      {"deployment.weight_dtype", "fp8-block", "deployment { weight_dtype: DTYPE_FP8_BLOCK }"},
      {"workload.batching_policy", "Continuous", "workload { batching_policy: BATCHING_POLICY_CONTINUOUS }"},
      {"method", "kpi", "method: METHOD_KPI"},
      {"deployment.unfused_elementwise", "true", "deployment { unfused_elementwise: true }"},
      {"deployment.unfused_elementwise", "false", "deployment { }"},
      {"live_load.time_observed", "1970-01-01T00:00:07Z", "live_load { time_observed { seconds: 7 } }"},
  };
  for (const Case& c : cases) {
    v1::Scenario scenario;
    ASSERT_TRUE(SetField(scenario, c.path, c.text).ok()) << c.path;
    EXPECT_EQ(scenario.ShortDebugString(), c.want);
  }
}

TEST(SetFieldTest, WhatHasNoMeaning) {
  struct Case {
    const char* path;
    const char* text;
    const char* want;
  };
  const Case cases[] = {
      {"workload.batch_size", "x", "\"x\"; allowed: a whole number from -2147483648 to 2147483647"},
      {"workload.batch_size", "1.5", "\"1.5\"; allowed: a whole number from -2147483648 to 2147483647"},
      {"workload.batch_size", "1e12", "\"1e12\"; allowed: a whole number from -2147483648 to 2147483647"},
      {"workload.batch_size", "99999999999", "\"99999999999\"; allowed: a whole number from -2147483648 to 2147483647"},
      {"deployment.unfused_elementwise", "1", "\"1\"; allowed: true, false"},
      {"deployment.unfused_elementwise", "TRUE", "\"TRUE\"; allowed: true, false"},
      {"deployment.memory_utilization", "most", "\"most\"; allowed: a number"},
      {"slo.max_ttft_seconds", "soon", "\"soon\"; allowed: seconds, or a number with ns, us, ms, s, m or h"},
      {"workload.batching_policy", "odd", "\"odd\"; allowed: static, dynamic, continuous"},
      {"live_load.time_observed", "noon", "\"noon\"; allowed: a time after RFC 3339, as 2026-01-31T12:00:00Z"},
  };
  for (const Case& c : cases) {
    v1::Scenario scenario;
    EXPECT_EQ(SetField(scenario, c.path, c.text).message(), c.want);
  }
}

TEST(FindFieldTest, ByPath) {
  const auto& scenario = *v1::Scenario::descriptor();
  EXPECT_NE(FindField(scenario, "workload.output_length_distribution.mean_tokens"), nullptr);
  EXPECT_EQ(FindField(scenario, "workload.no_such_field"), nullptr);
  EXPECT_EQ(FindField(scenario, "model_id.x"), nullptr);
}

TEST(EnumTextTest, ThereAndBack) {
  EXPECT_EQ(EnumText(v1::DTYPE_Q4_K_M), "q4_k_m");
  EXPECT_EQ(EnumText(static_cast<v1::Dtype>(99)), "99");
  EXPECT_EQ(ParseEnum(*v1::Dtype_descriptor(), "NVFP4"), v1::DTYPE_NVFP4);
  EXPECT_EQ(ParseEnum(*v1::Dtype_descriptor(), "fp"), std::nullopt);
}

}  // namespace
}  // namespace foretoken::cli
