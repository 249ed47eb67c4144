#include "client/cli/scenario/axis.h"

#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

namespace foretoken::cli {
namespace {

TEST(ParseAxisTest, Forms) {
  struct Case {
    const char* text;
    const char* want;
  };
  const Case cases[] = {
      {"workload.batch_size=1,2,4", "field: \"workload.batch_size\" numbers { values: 1 values: 2 values: 4 }"},
      {"batch=1..256:log:9", "field: \"workload.batch_size\" logarithmic { start: 1 stop: 256 count: 9 }"},
      {"tp=1..64:lin:8", "field: \"deployment.tensor_parallel\" linear { start: 1 stop: 64 count: 8 }"},
      {"output_tokens=1..16", "field: \"workload.output_tokens\" linear { start: 1 stop: 16 count: 16 }"},
      {"output-tokens=1,2", "field: \"workload.output_tokens\" numbers { values: 1 values: 2 }"},
      {"tensor-parallel=4", "field: \"deployment.tensor_parallel\" numbers { values: 4 }"},
      {"draft-tp=2", "field: \"speculative_decoding.draft_deployment.tensor_parallel\" numbers { values: 2 }"},
      {"prompt=0.5e3", "field: \"workload.prompt_tokens\" numbers { values: 500 }"},
      {"hardware=a,b", "field: \"hardware_id\" texts { values: \"a\" values: \"b\" }"},
      {"engine=vllm@0.12.0", "field: \"deployment.engine\" texts { values: \"vllm@0.12.0\" }"},
      {"model_id=m..x", "field: \"model_id\" texts { values: \"m..x\" }"},
      {"weight-dtype=bf16,fp8_block",
       "field: \"deployment.weight_dtype\" dtypes { values: DTYPE_BF16 values: DTYPE_FP8_BLOCK }"},
      {"batching=static,continuous",
       "field: \"workload.batching_policy\" texts { values: \"BATCHING_POLICY_STATIC\" values: "
       "\"BATCHING_POLICY_CONTINUOUS\" }"},
      {"unfused=true,false", "field: \"deployment.unfused_elementwise\" texts { values: \"true\" values: \"false\" }"},
      {"no.such.field=1", "field: \"no.such.field\" numbers { values: 1 }"},  // the server's to judge
  };
  for (const Case& c : cases) {
    v1::SweepAxis want;
    ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(c.want, &want)) << c.want;
    const auto axis = ParseAxis(c.text);
    ASSERT_TRUE(axis.ok()) << axis.status();
    EXPECT_EQ(axis->ShortDebugString(), want.ShortDebugString()) << c.text;
  }
}

TEST(ParseAxisTest, Refusals) {
  for (const char* text :
       {"batch", "=1", "batch=", "batch=x", "batch=1..", "batch=1..8:exp:3", "batch=1..8:log", "batch=1..8:log:x",
        "batch=8..1", "weight-dtype=fp7", "batching=odd", "unfused=1", "batching=1..2", "batch=1,,2"}) {
    EXPECT_EQ(ParseAxis(text).status().code(), absl::StatusCode::kInvalidArgument) << text;
  }
  EXPECT_THAT(std::string(ParseAxis("weight-dtype=fp7").status().message()), testing::HasSubstr("bf16"));
}

}  // namespace
}  // namespace foretoken::cli
