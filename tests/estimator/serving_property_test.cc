// What must hold however requests are served, over random scenarios from a fixed seed.
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <sstream>

#include "estimator/errors.h"
#include "estimator/estimator.h"
#include "tests/estimator/fixtures.h"

namespace foretoken {
namespace {

constexpr double kRounding = 1e-9;
const Model kModels[] = {Llama2_7b(), Llama31_70b(), Mixtral8x7b(), DeepseekV2Lite(), Gemma2_9b()};

class ServingSource {
 public:
  ServingSource() : hardware_(A100()) { hardware_.memory_capacity = Bytes(1e14); }

  Scenario Next() {
    Scenario s =
        MakeScenario(kModels[Pick(5)], hardware_, 1 + LogUniform(500), 1 + LogUniform(8000), 1 + LogUniform(2000));
    s.deployment.tensor_parallel = 1 << Pick(4);
    s.deployment.pipeline_parallel = 1 << Pick(3);
    if (Pick(2) == 0) s.deployment.prefill_chunk_tokens = 64 + LogUniform(4096);
    if (Pick(3) == 0) s.workload.cached_prefix_tokens = Pick(s.workload.prompt_tokens);
    if (Pick(3) == 0)
      s.workload.output_lengths = OutputLengthDistribution{.mean_tokens = 1.0 * s.workload.output_tokens};
    s.method = Method::kOperatorModel;
    switch (Pick(4)) {
      case 0:
        s.workload.batching = BatchingPolicy::kDynamic;
        s.workload.request_rate_per_second = 0.01 * LogUniform(1000);
        if (Pick(2) == 0) s.workload.batching_window = Seconds(0.01 * Pick(100));
        break;
      case 1:
        s.workload.batching = BatchingPolicy::kContinuous;
        s.workload.request_rate_per_second = 0.01 * LogUniform(1000);
        break;
      case 2:
        s.workload.batching = BatchingPolicy::kContinuous;
        break;
      default:
        s.workload.output_lengths.reset();
        s.live_load = Load();
    }
    return s;
  }

  int Pick(int n) { return static_cast<int>(random_() % static_cast<unsigned>(n)); }
  int LogUniform(int largest) {
    return static_cast<int>(std::exp(std::uniform_real_distribution(0.0, std::log(largest))(random_)));
  }

 private:
  LiveLoad Load() {
    LiveLoad load{.running_sequences = Pick(100), .running_context_tokens = LogUniform(8000)};
    load.remaining_output_tokens = Pick(500);
    if (Pick(2) == 0) load.waiting_requests = Pick(20);
    if (Pick(2) == 0) load.queued_prefill_tokens = LogUniform(30000);
    if (Pick(2) == 0) load.in_flight_prefill_tokens = LogUniform(8000);
    if (Pick(2) == 0) load.free_kv_tokens = 20000 + LogUniform(100000);
    if (Pick(2) == 0) load.max_num_seqs = 1 + LogUniform(256);
    if (Pick(2) == 0) load.max_num_batched_tokens = 128 + LogUniform(8192);
    return load;
  }

  Hardware hardware_;
  std::mt19937 random_{99};
};

std::string Describe(const Scenario& s) {
  std::ostringstream out;
  const Workload& w = s.workload;
  out << s.model->id << " tp " << s.deployment.tensor_parallel << " pp " << s.deployment.pipeline_parallel << " B "
      << w.batch_size << " S " << w.prompt_tokens << " p " << w.cached_prefix_tokens << " O " << w.output_tokens
      << " chunk " << s.deployment.prefill_chunk_tokens.value_or(0) << " policy " << static_cast<int>(w.batching)
      << " rate " << w.request_rate_per_second.value_or(0) << " live " << s.live_load.has_value();
  return out.str();
}

// A refusal that names its reason, or nothing else than sums that hold.
TEST(ServingPropertyTest, PartsSumAndEverythingIsFinite) {
  ServingSource source;
  int answered = 0;
  for (int i = 0; i < 5000; ++i) {
    const Scenario scenario = source.Next();
    const absl::StatusOr<Estimate> e = ComputeEstimate(scenario, {.token_latencies = i % 10 == 0});
    if (!e.ok()) {
      const Reason reason = DetailOf(e.status()).reason;
      ASSERT_TRUE(reason == Reason::kUnstableLoad || reason == Reason::kOutOfMemory) << e.status();
      continue;
    }
    ++answered;
    const double e2e = e->e2e.time.value();
    ASSERT_TRUE(std::isfinite(e2e) && e2e > 0) << Describe(scenario);
    ASSERT_NEAR(e->prefill.parts->Total().value(), e->ttft.time.value(), kRounding * e2e) << Describe(scenario);
    ASSERT_NEAR(e->ttft.time.value() + e->decode_steps * e->tpot.time.value(), e2e, kRounding * e2e);
    for (const Phase* phase : {&e->prefill, &e->decode}) {
      for (const Seconds part : {phase->parts->compute, phase->parts->memory, phase->parts->communication,
                                 phase->parts->host, phase->parts->queueing}) {
        ASSERT_GE(part.value(), 0) << Describe(scenario);
      }
    }
    ASSERT_LE(*e->mbu, 1 + kRounding) << Describe(scenario);
    ASSERT_TRUE(std::isfinite(e->throughput.output_tokens_per_second));
    double latencies = 0;
    for (const Seconds latency : e->token_latencies) latencies += latency.value();
    if (!e->token_latencies.empty()) {
      ASSERT_NEAR(latencies, e2e, 2e-3 * e2e) << Describe(scenario);
    }
  }
  EXPECT_GT(answered, 2000);
}

TEST(ServingPropertyTest, NothingIsFasterThanLight) {
  ServingSource source;
  for (int i = 0; i < 3000; ++i) {
    Scenario scenario = source.Next();
    const absl::StatusOr<Estimate> real = ComputeEstimate(scenario);
    scenario.method = Method::kSpeedOfLight;
    const absl::StatusOr<Estimate> light = ComputeEstimate(scenario);
    if (!real.ok()) continue;
    ASSERT_TRUE(light.ok()) << Describe(scenario) << light.status();
    ASSERT_LE(light->e2e.time.value(), real->e2e.time.value() * (1 + kRounding)) << Describe(scenario);
    ASSERT_LE(light->ttft.time.value(), real->ttft.time.value() * (1 + kRounding)) << Describe(scenario);
  }
}

// More requests, a higher rate or a longer prompt never serve a request sooner (a dynamic batch gathers sooner at a
// higher rate; what a live load does not state of its prompts is taken from the request's). Packing prompts into steps
// of a token budget, and batches that grow under dynamic batching, move in whole sequences: those may step by a few
// percent.
TEST(ServingPropertyTest, MoreWorkIsNeverFaster) {
  ServingSource source;
  for (int i = 0; i < 5000; ++i) {
    const Scenario less = source.Next();
    Scenario more = less;
    if (i % 3 == 0 && less.live_load) continue;
    if (i % 3 == 0) more.workload.prompt_tokens += 1 + source.Pick(500);
    if (i % 3 == 1) more.workload.output_tokens += 1 + source.Pick(500);
    const bool gathers = more.workload.batching == BatchingPolicy::kDynamic;
    if (i % 3 == 2 && gathers) continue;
    if (i % 3 == 2 && more.workload.request_rate_per_second) *more.workload.request_rate_per_second *= 1.1;
    if (i % 3 == 2 && !more.workload.request_rate_per_second) more.workload.batch_size += 1 + source.Pick(20);
    const absl::StatusOr<Estimate> before = ComputeEstimate(less);
    const absl::StatusOr<Estimate> after = ComputeEstimate(more);
    if (!before.ok()) continue;
    if (!after.ok()) continue;  // refused: too much
    const bool steps = less.workload.batching == BatchingPolicy::kDynamic || less.live_load;
    ASSERT_GE(after->e2e.time.value() * (steps ? 1.05 : 1.003), before->e2e.time.value())
        << Describe(less) << " | " << Describe(more);
  }
}

}  // namespace
}  // namespace foretoken
