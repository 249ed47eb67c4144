#include "client/cli/validation/measurements.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

namespace foretoken::cli {
namespace {

using testing::HasSubstr;

constexpr char kHeader[] =
    "hardware,model,engine,engine_version,tensor_parallel,pipeline_parallel,expert_parallel,data_parallel,weight_dtype,"
    "activation_dtype,kv_cache_dtype,batching,batch_size,prompt_tokens,output_tokens,prefill_chunk_tokens,ttft_s,tpot_"
    "s,"
    "e2e_s,source\n";

MeasurementFile Read(const std::string& rows) {
  std::istringstream in(kHeader + rows);
  return ReadMeasurements("m.csv", in).value();
}

TEST(MeasurementsTest, ARowInTheFormOfTheApi) {
  const Measurement row =
      Read("gpu,llama,vllm,0.7.3,8,0,,1,fp8,fp8,bf16,continuous,16,0,128,512,0.5,,1.25,a:b\n").rows[0];
  ASSERT_TRUE(row.status.ok()) << row.status;
  EXPECT_EQ(row.hardware_id, "gpu");
  EXPECT_EQ(Place(row), "m.csv:2");
  EXPECT_EQ(
      row.sample.ShortDebugString(),
      "model_id: \"llama\" deployment { tensor_parallel: 8 pipeline_parallel: 1 expert_parallel: 1 data_parallel: 1 "
      "weight_dtype: DTYPE_FP8 activation_dtype: DTYPE_FP8 kv_cache_dtype: DTYPE_BF16 engine: \"vllm@0.7.3\" "
      "prefill_chunk_tokens: 512 } batch_size: 16 output_tokens: 128 ttft_seconds: 0.5 e2e_seconds: 1.25 "
      "batching_policy: BATCHING_POLICY_CONTINUOUS");
}

TEST(MeasurementsTest, EachColumnIsAFieldOfItsOwn) {
  const Measurement row = Read("gpu,llama,vllm,0.7.3,2,3,4,5,fp8,int8,fp16,dynamic,6,7,8,9,0.1,0.2,0.3,a:b\n").rows[0];
  EXPECT_EQ(
      row.sample.ShortDebugString(),
      "model_id: \"llama\" deployment { tensor_parallel: 2 pipeline_parallel: 3 expert_parallel: 4 data_parallel: 5 "
      "weight_dtype: DTYPE_FP8 activation_dtype: DTYPE_INT8 kv_cache_dtype: DTYPE_FP16 engine: \"vllm@0.7.3\" "
      "prefill_chunk_tokens: 9 } batch_size: 6 prompt_tokens: 7 output_tokens: 8 ttft_seconds: 0.1 tpot_seconds: 0.2 "
      "e2e_seconds: 0.3 batching_policy: BATCHING_POLICY_DYNAMIC");
}

TEST(MeasurementsTest, TheSmallestOfEachCount) {
  const auto read = [](const std::string& counts) {
    std::istringstream in("hardware,model,batch_size,prompt_tokens,output_tokens,prefill_chunk_tokens,ttft_s\ng,m," +
                          counts + ",0.5\n");
    return ReadMeasurements("m.csv", in).value().rows[0].status;
  };
  EXPECT_TRUE(read("1,0,1,1").ok());
  EXPECT_EQ(read("0,-1,0,0").message(),
            "prefill_chunk_tokens \"0\"; allowed: a whole number of at least 1; "
            "batch_size \"0\"; allowed: a whole number of at least 1; "
            "prompt_tokens \"-1\"; allowed: a whole number of at least 0; "
            "output_tokens \"0\"; allowed: a whole number of at least 1");
}

TEST(MeasurementsTest, ARateOfRequests) {
  const auto read = [](const std::string& rate) {
    std::istringstream in("hardware,model,batching,batch_size,request_rate,prompt_tokens,output_tokens,ttft_s\n" +
                          ("g,m,continuous,1," + rate) + ",100,10,0.5\n");
    return ReadMeasurements("m.csv", in).value().rows[0];
  };
  EXPECT_EQ(read("2.5").sample.request_rate_per_second(), 2.5);
  EXPECT_FALSE(read("").sample.has_request_rate_per_second());
  EXPECT_EQ(read("-1").status.message(), "request_rate \"-1\"; allowed: finite requests/s above 0");
}

TEST(MeasurementsTest, AShareOfTheMemory) {
  const auto read = [](const std::string& share) {
    std::istringstream in("hardware,model,batch_size,memory_utilization,prompt_tokens,output_tokens,ttft_s\n" +
                          ("g,m,1," + share) + ",100,10,0.5\n");
    return ReadMeasurements("m.csv", in).value().rows[0];
  };
  EXPECT_EQ(read("1").sample.deployment().memory_utilization(), 1);
  EXPECT_FALSE(read("").sample.deployment().has_memory_utilization());
  EXPECT_EQ(read("0").status.message(), "memory_utilization \"0\"; allowed: above 0 to 1");
  EXPECT_EQ(read("1.5").status.message(), "memory_utilization \"1.5\"; allowed: above 0 to 1");
  EXPECT_EQ(read("nan").status.message(), "memory_utilization \"nan\"; allowed: above 0 to 1");
}

TEST(MeasurementsTest, BadRowsAreToldAndTheRestGoesOn) {
  struct Case {
    const char* name;
    const char* row;
    const char* want;
  };
  const Case cases[] = {
      {"not a time", "g,m,,,,,,,,,,static,1,1,1,,nan,,,s\n", "ttft_s \"nan\"; allowed: finite seconds above 0"},
      {"infinite", "g,m,,,,,,,,,,static,1,1,1,,,inf,,s\n", "tpot_s \"inf\"; allowed: finite seconds above 0"},
      {"zero", "g,m,,,,,,,,,,static,1,1,1,,,,0,s\n", "e2e_s \"0\"; allowed: finite seconds above 0"},
      {"negative batch", "g,m,,,,,,,,,,static,-3,1,1,,,,1,s\n",
       "batch_size \"-3\"; allowed: a whole number of at least 1"},
      {"no output", "g,m,,,,,,,,,,static,1,1,,,,,1,s\n", "output_tokens is blank"},
      {"unknown dtype", "g,m,,,,,,,fp7,,,static,1,1,1,,,,1,s\n", "weight_dtype \"fp7\"; allowed: fp32, bf16"},
      {"unknown batching", "g,m,,,,,,,,,,odd,1,1,1,,,,1,s\n", "batching \"odd\"; allowed: static, dynamic, continuous"},
      {"no hardware", ",m,,,,,,,,,,static,1,1,1,,,,1,s\n", "hardware is blank"},
      {"too few cells", "g,m\n", "2 cells; allowed 20"},
  };
  for (const Case& c : cases) {
    const MeasurementFile file = Read(std::string(c.row) + "g,m,,,,,,,,,,,1,1,1,,,,1,s\n");
    ASSERT_EQ(file.rows.size(), 2u) << c.name;
    EXPECT_THAT(std::string(file.rows[0].status.message()), HasSubstr(c.want)) << c.name;
    EXPECT_TRUE(file.rows[1].status.ok()) << c.name;
  }
}

TEST(MeasurementsTest, TwoFaultsOfARowAreBothTold) {
  const std::string message(Read("g,m,,,,,,,,,,static,0,1,1,,x,,,s\n").rows[0].status.message());
  EXPECT_THAT(message, testing::AllOf(HasSubstr("batch_size"), HasSubstr("ttft_s")));
}

// Lengths uniform from 819 to 1,024 and from 100 to 200 have the means 922 and 150.
TEST(MeasurementsTest, ServedRunsSayMoreOfThemselves) {
  const auto read = [](const std::string& cells) {
    std::istringstream in(
        "hardware,model,batch_size,prompt_tokens,output_tokens,ttft_s,requests,prompt_tokens_min,output_tokens_min,"
        "max_num_batched_tokens,max_num_seqs,scheduler\ng,m,4,1024,200,0.5," +
        cells + "\n");
    return ReadMeasurements("m.csv", in).value();
  };
  const MeasurementFile file = read("40,819,100,8192,64,mixed");
  const Measurement& row = file.rows[0];
  ASSERT_TRUE(row.status.ok()) << row.status;
  EXPECT_EQ(row.sample.prompt_tokens(), 922);
  EXPECT_EQ(row.sample.output_tokens(), 150);
  EXPECT_EQ(row.sample.deployment().prefill_chunk_tokens(), 8192);
  EXPECT_EQ(row.sample.prompt_spread_tokens(), 102);
  EXPECT_EQ(row.sample.output_spread_tokens(), 50);
  EXPECT_EQ(row.sample.closed_loop_requests(), 40);
  EXPECT_EQ(row.sample.deployment().max_num_seqs(), 64);
  EXPECT_EQ(row.sample.deployment().scheduler(), v1::SCHEDULER_POLICY_MIXED);
  const MeasurementFile blank = read(",,,,,");
  EXPECT_EQ(blank.rows[0].sample.prompt_tokens(), 1024);
  EXPECT_FALSE(blank.rows[0].sample.has_prompt_spread_tokens());
  EXPECT_FALSE(blank.rows[0].sample.has_closed_loop_requests());
  EXPECT_EQ(blank.rows[0].sample.deployment().scheduler(), v1::SCHEDULER_POLICY_UNSPECIFIED);
  EXPECT_EQ(read("0,1025,,,x,fifo").rows[0].status.message(),
            "max_num_seqs \"x\"; allowed: a whole number of at least 1; "
            "scheduler \"fifo\"; allowed: mixed, prefill_first, in_flight; "
            "prompt_tokens_min 1025; allowed: at most prompt_tokens; "
            "requests \"0\"; allowed: a whole number of at least 1");
}

TEST(MeasurementsTest, ColumnsAreCheckedTogether) {
  std::istringstream in("hardware,model,modle,batch_size,prompt_tokens,batch_size\n");
  const absl::Status status = ReadMeasurements("m.csv", in).status();
  EXPECT_THAT(
      std::string(status.message()),
      testing::AllOf(HasSubstr("m.csv:1: "), HasSubstr("unknown column \"modle\""),
                     HasSubstr("column \"batch_size\" stands twice"), HasSubstr("no column \"output_tokens\"")));
  std::istringstream thrice("hardware,model,batch_size,prompt_tokens,output_tokens,model,model\n");
  const std::string message(ReadMeasurements("m.csv", thrice).status().message());
  EXPECT_THAT(message, testing::StartsWith("m.csv:1: column \"model\" stands twice; allowed: "));
  std::istringstream empty("");
  EXPECT_EQ(ReadMeasurements("m.csv", empty).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(MeasurementsTest, AFileWithoutRowsIsAFault) {
  std::istringstream in(kHeader);
  EXPECT_EQ(ReadMeasurements("m.csv", in).status().message(), "m.csv: no rows below the header");
}

TEST(MeasurementsTest, AnOpenQuoteIsTheOnlyFaultOfItsRow) {
  const MeasurementFile file = Read("g,m,,,,,,,,,,,1,1,1,,,,1,s\ng,\"m,,,,,,,,,,,1,1,1,,,,1,s\ng,m\n");
  ASSERT_EQ(file.rows.size(), 2u);
  EXPECT_EQ(file.rows[1].status.message(), "the quote that opens in line 3 is never closed");
  std::istringstream header("hardware,\"model\n");
  EXPECT_EQ(ReadMeasurements("m.csv", header).status().message(),
            "m.csv:1: the quote that opens in line 1 is never closed");
}

}  // namespace
}  // namespace foretoken::cli
