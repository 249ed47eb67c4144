// Metrics of engines as live loads.
#include "client/gauges.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "tests/paths.h"

namespace foretoken::client {
namespace {

using testing::HasSubstr;

std::string TextOf(const std::string& metrics) {
  const absl::StatusOr<v1::LiveLoad> load = LiveLoadOf(metrics);
  return load.ok() ? load->ShortDebugString() : std::string(load.status().message());
}

TEST(GaugesTest, EachEngine) {
  EXPECT_EQ(TextOf("# HELP vllm:num_requests_running Running.\n"
                   "vllm:num_requests_running{engine=\"0\",model_name=\"m\"} 3.0\n"
                   "vllm:num_requests_waiting{engine=\"0\",model_name=\"m\"} 2.0\n"
                   "vllm:kv_cache_usage_perc{engine=\"0\",model_name=\"m\"} 0.25\n"
                   "vllm:cache_config_info{block_size=\"32\",num_gpu_blocks=\"100\"} 1.0\n"),
            "running_sequences: 3 waiting_requests: 2 kv_block_tokens: 32 kv_cache_usage_ratio: 0.25");
  EXPECT_EQ(TextOf("sglang:num_running_reqs{model_name=\"m\"} 4\nsglang:num_queue_reqs{model_name=\"m\"} 0\n"
                   "sglang:token_usage{model_name=\"m\"} 0.5"),
            "running_sequences: 4 waiting_requests: 0 kv_cache_usage_ratio: 0.5");
  EXPECT_EQ(TextOf("trtllm_num_requests_running 5\ntrtllm_num_requests_waiting 6\ntrtllm_kv_cache_utilization 1\n"),
            "running_sequences: 5 waiting_requests: 6 kv_cache_usage_ratio: 1");
  EXPECT_EQ(TextOf("llamacpp:requests_processing 1\nllamacpp:requests_deferred 7\n"),
            "running_sequences: 1 waiting_requests: 7");
}

TEST(GaugesTest, RanksAreAddedUpAndSharesAveraged) {
  EXPECT_EQ(TextOf("vllm:num_requests_running{engine=\"0\"} 3 1700000000000\nvllm:num_requests_running{engine=\"1\"} 5\n"
                   "vllm:kv_cache_usage_perc{engine=\"0\"} 0.2\nvllm:kv_cache_usage_perc{engine=\"1\"} 0.3\n"),
            "running_sequences: 8 kv_cache_usage_ratio: 0.25");
}

TEST(GaugesTest, RefusesWhatIsNoLoad) {
  EXPECT_THAT(TextOf(""), HasSubstr("known: vllm:num_requests_running"));
  EXPECT_THAT(TextOf("go_goroutines 5\n"), HasSubstr("no gauge of a known engine"));
  EXPECT_THAT(TextOf("vllm:num_requests_running -1\n"), HasSubstr("vllm:num_requests_running is -1"));
  EXPECT_THAT(TextOf("vllm:num_requests_running NaN\n"), HasSubstr("allowed: a number of at least 0"));
  EXPECT_THAT(TextOf("vllm:num_requests_running x\n"), HasSubstr("allowed: a number of at least 0"));
  EXPECT_THAT(TextOf(std::string(kMaxMetricsBytes + 1, 'x')), HasSubstr("allowed: at most"));
}

TEST(GaugesTest, TakesWhatIsCut) {
  const std::string text = "vllm:num_requests_running{a=\"}\",b=\"x\"} 3\n";
  for (size_t size = 0; size < text.size(); ++size) (void)LiveLoadOf(text.substr(0, size));  // no crash
  EXPECT_EQ(TextOf(text), "running_sequences: 3");
}

// The page lists every gauge that is read, with its field.
TEST(GaugesTest, ThePageListsThem) {
  std::ifstream file(SourcePath("docs/live-load.md"));
  std::stringstream page;
  page << file.rdbuf();
  for (const Gauge& gauge : KnownGauges()) EXPECT_THAT(page.str(), HasSubstr(gauge.name));
}

}  // namespace
}  // namespace foretoken::client
