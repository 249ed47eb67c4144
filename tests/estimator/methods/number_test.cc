// No figure of an estimate is out of its range, and none moves the wrong way: over every model on every device in every
// dtype, and over random scenarios up to the limits of the API.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "estimator/methods/estimator.h"
#include "estimator/methods/step_model_cache.h"
#include "tests/estimator/extreme_scenarios.h"
#include "tests/estimator/random_scenarios.h"

namespace foretoken {
namespace {

constexpr double kRounding = 1e-9;

void ExpectShares(const Scenario& scenario, const Estimate& e) {
  EXPECT_LE(e.mfu.value_or(0), 1 + kRounding) << Describe(scenario);
  EXPECT_LE(e.mbu.value_or(0), 1 + kRounding) << Describe(scenario);
}

bool WarnsOfLight(const Estimate& e) {
  return std::any_of(e.warnings.begin(), e.warnings.end(), [](const Warning& warning) {
    return warning.message.find("below the speed of light") != std::string::npos;
  });
}

// Attention and the LM head of INT8 activations run in 16 bits, which some devices compute faster.
TEST(NumberTest, NoUtilisationIsAboveOneOnAnyDeviceInAnyDtype) {
  int answered = 0;
  for (const Hardware& device : Bundled().hardware) {
    const Hardware hardware = Roomy(device);
    for (const Model& model : Bundled().models) {
      for (const Dtype activation : {Dtype::kUnspecified, Dtype::kInt8, Dtype::kFp8}) {
        Scenario scenario{.model = &model, .hardware = &hardware};
        scenario.method = Method::kSpeedOfLight;
        scenario.deployment.activation_dtype = activation;
        if (activation == Dtype::kInt8) scenario.deployment.weight_dtype = activation;
        ResolveDtypes(model, scenario.deployment);
        scenario.workload = {.batch_size = 8, .prompt_tokens = 32000, .output_tokens = 2};
        const absl::StatusOr<Estimate> e = ComputeEstimate(scenario);
        if (!e.ok()) continue;
        ++answered;
        ExpectShares(scenario, *e);
      }
    }
  }
  EXPECT_GT(answered, 10000);
}

TEST(NumberTest, NothingIsNegativeAndNoShareAboveOneUpToTheLimits) {
  ExtremeScenarios source(31);
  int answered = 0;
  for (int i = 0; i < 6000; ++i) {
    const Scenario scenario = source.Next();
    const absl::StatusOr<Estimate> e = ComputeEstimate(scenario);
    if (!e.ok()) continue;
    ++answered;
    ExpectShares(scenario, *e);
    for (const Phase* phase : {&e->prefill, &e->decode}) {
      const TimeParts& p = *phase->parts;
      for (const Seconds part : {p.compute, p.memory, p.communication, p.host, p.queueing}) {
        EXPECT_TRUE(part.value() >= 0 && std::isfinite(part.value())) << part.value() << " " << Describe(scenario);
      }
    }
    const MemoryUse& m = *e->memory;
    for (const Bytes bytes : {m.weights, m.kv_cache, m.activations, *m.free}) EXPECT_GE(bytes.value(), 0);
    const bool warned = std::any_of(e->warnings.begin(), e->warnings.end(), [](const Warning& warning) {
      return warning.message.find("far beyond") != std::string::npos;
    });
    EXPECT_EQ(warned, e->e2e.time.value() > 1e9) << Describe(scenario);
  }
  EXPECT_GT(answered, 4000);
}

// One request at a replica over a pipeline: with nothing running, with one sequence, with one request waiting.
TEST(NumberTest, ALoadedPipelineIsNeverFasterThanAnIdleOne) {
  RandomScenarios source(32);
  int compared = 0;
  for (int i = 0; i < 4000; ++i) {
    Scenario idle = source.NextBatch();
    if (idle.workload.kv_cache_mode != KvCacheMode::kCached) continue;
    idle.workload.batch_size = 1;
    idle.deployment.pipeline_parallel = std::min(4, idle.model->num_hidden_layers);
    idle.deployment.prefill_chunk_tokens.reset();
    idle.workload.prompt_tokens += 20000;
    idle.live_load = LiveLoad{.running_sequences = 0};
    Scenario runs = idle;
    runs.live_load = LiveLoad{.running_sequences = 1, .running_context_tokens = 500, .remaining_output_tokens = 100};
    Scenario waits = idle;
    waits.live_load = LiveLoad{.waiting_requests = 1};
    const absl::StatusOr<Estimate> alone = ComputeEstimate(idle);
    const absl::StatusOr<Estimate> beside = ComputeEstimate(runs);
    const absl::StatusOr<Estimate> behind = ComputeEstimate(waits);
    if (!alone.ok() || !beside.ok() || !behind.ok()) continue;
    ++compared;
    EXPECT_GE(beside->ttft.time.value() * (1 + kRounding), alone->ttft.time.value()) << Describe(idle);
    EXPECT_GE(behind->ttft.time.value() * (1 + kRounding), alone->ttft.time.value()) << Describe(idle);
    EXPECT_GE(beside->e2e.time.value() * (1 + kRounding), alone->e2e.time.value()) << Describe(idle);
  }
  EXPECT_GT(compared, 1000);
}

// One sequence, request or token more. Sequences and prompts are whole: where one more fills a microbatch or a step,
// the time steps back by up to a twentieth (docs/model/serving.md).
TEST(NumberTest, MoreLiveLoadIsNeverFasterButForWholeNumbers) {
  constexpr double kSteps = 1.05;
  constexpr void (*kMore[])(LiveLoad&) = {
      [](LiveLoad& load) { ++*load.running_sequences; },
      [](LiveLoad& load) { *load.running_context_tokens += 100; },
      [](LiveLoad& load) { *load.in_flight_prefill_tokens += 100; },
      [](LiveLoad& load) {  // as long as the others
        *load.queued_prefill_tokens *= (*load.waiting_requests + 1.0) / *load.waiting_requests;
        ++*load.waiting_requests;
      },
  };
  RandomScenarios source(37);
  int compared = 0;
  for (int i = 0; i < 4000; ++i) {
    Scenario less = source.NextBatch();
    if (less.workload.kv_cache_mode != KvCacheMode::kCached) continue;
    less.workload.batch_size = 1;
    const int waiting = 1 + source.Pick(20);
    less.live_load = LiveLoad{.running_sequences = 1 + source.Pick(100),
                              .running_context_tokens = source.LogUniform(1, 8000),
                              .remaining_output_tokens = 1 + source.Pick(500),
                              .waiting_requests = waiting,
                              .queued_prefill_tokens = 1.0 * waiting * source.LogUniform(1, 8000),
                              .in_flight_prefill_tokens = source.LogUniform(1, 8000)};
    if (source.OneIn(2)) less.live_load->max_num_seqs = 128 + source.Pick(128);
    const bool cut = less.deployment.prefill_chunk_tokens.value_or(kStepTokens) < less.workload.fresh_tokens();
    if (i % 4 == 1 && less.model->sliding_window) continue;  // past the boundary of an attention chunk less is seen
    if (i % 4 == 2 && cut) continue;  // in-flight tokens are whole prompts: of two, neither may need a second chunk
    Scenario more = less;
    kMore[i % 4](*more.live_load);
    const absl::StatusOr<Estimate> before = ComputeEstimate(less);
    const absl::StatusOr<Estimate> after = ComputeEstimate(more);
    if (!before.ok() || !after.ok()) continue;
    ++compared;
    EXPECT_GE(after->ttft.time.value() * kSteps, before->ttft.time.value()) << i % 4 << " " << Describe(less);
    EXPECT_GE(after->e2e.time.value() * kSteps, before->e2e.time.value()) << i % 4 << " " << Describe(less);
  }
  EXPECT_GT(compared, 2000);
}

// The methods of the sources leave out what the operator model counts: where that makes them too fast, they say so.
TEST(NumberTest, AMethodBelowTheSpeedOfLightSaysSo) {
  RandomScenarios source(33);
  int below = 0;
  for (int i = 0; i < 4000; ++i) {
    Scenario scenario{.model = &source.AnyModel(), .hardware = &source.AnyHardware()};
    scenario.method = Method::kKpi;
    scenario.workload = {.prompt_tokens = source.LogUniform(1, 60000), .output_tokens = source.LogUniform(1, 3000)};
    if (source.OneIn(3)) scenario.deployment.weight_dtype = scenario.deployment.activation_dtype = Dtype::kInt8;
    ResolveDtypes(*scenario.model, scenario.deployment);
    const absl::StatusOr<Estimate> e = ComputeEstimate(scenario);
    scenario.method = Method::kSpeedOfLight;
    const absl::StatusOr<Estimate> light = ComputeEstimate(scenario);
    if (!e.ok() || !light.ok()) continue;
    const auto is_below = [](Seconds found, Seconds least) { return found.value() < least.value() * (1 - kRounding); };
    const bool faster = is_below(e->ttft.time, light->ttft.time) || is_below(e->tpot.time, light->tpot.time) ||
                        is_below(e->e2e.time, light->e2e.time);
    below += faster ? 1 : 0;
    EXPECT_EQ(WarnsOfLight(*e), faster) << Describe(scenario);
  }
  EXPECT_GT(below, 100);
}

TEST(NumberTest, OneTokenMoreIsNeverFasterAtTheSpeedOfLight) {
  RandomScenarios source(34);
  int compared = 0;
  for (int i = 0; i < 4000; ++i) {
    Scenario less = source.NextBatch();
    if (less.workload.kv_cache_mode != KvCacheMode::kCached) continue;
    less.method = Method::kSpeedOfLight;
    less.workload.batching = BatchingPolicy::kContinuous;
    less.workload.output_tokens = 1 + source.Pick(source.OneIn(2) ? 4 : 200);
    Scenario more = less;
    ++more.workload.output_tokens;
    const absl::StatusOr<Estimate> before = ComputeEstimate(less);
    const absl::StatusOr<Estimate> after = ComputeEstimate(more);
    if (!before.ok() || !after.ok()) continue;
    ++compared;
    // Attention chunks: a position past a boundary sees less.
    const bool chunked = less.model->sliding_window && less.model->sliding_window->chunked;
    EXPECT_GE(after->e2e.time.value() * (1 + (chunked ? 1e-2 : 2e-3)), before->e2e.time.value()) << Describe(less);
    EXPECT_GE(after->ttft.time.value() * (1 + kRounding), before->ttft.time.value()) << Describe(less);
  }
  EXPECT_GT(compared, 2000);
}

TEST(NumberTest, LatenciesOfSingleTokensSumToTheWhole) {
  RandomScenarios source(35);
  int summed = 0;
  for (int i = 0; i < 4000; ++i) {
    Scenario scenario = source.Next();
    scenario.workload.output_tokens = 1 + source.Pick(400);
    const absl::StatusOr<Estimate> e = ComputeEstimate(scenario, {.token_latencies = true});
    if (!e.ok()) continue;
    ++summed;
    double sum = 0;
    for (const Seconds latency : e->token_latencies) {
      ASSERT_GE(latency.value(), 0) << Describe(scenario);
      sum += latency.value();
    }
    ASSERT_NEAR(sum, e->e2e.time.value(), kRounding * sum) << Describe(scenario);
  }
  EXPECT_GT(summed, 2000);
}

// As many sequences as the memory allows, at most `batch`.
TEST(NumberTest, MoreMemoryNeverServesLess) {
  RandomScenarios source(36);
  int compared = 0;
  for (int i = 0; i < 4000; ++i) {
    Scenario scenario = source.NextBatch();
    if (scenario.workload.kv_cache_mode != KvCacheMode::kCached || scenario.deployment.pipeline_parallel > 1) continue;
    const Estimate roomy = MustEstimate(scenario);
    const MemoryUse& m = *roomy.memory;
    Hardware less = *scenario.hardware;
    less.memory_capacity = (m.weights + m.activations + m.kv_cache * source.Uniform(0.01, 1.1)) / 0.9;
    Hardware more = less;
    more.memory_capacity = *less.memory_capacity * source.Uniform(1, 3);
    Scenario limited = scenario;
    limited.workload.capacity_policy = CapacityPolicy::kWaves;
    limited.hardware = &less;
    const absl::StatusOr<Estimate> before = ComputeEstimate(limited);
    limited.hardware = &more;
    const absl::StatusOr<Estimate> after = ComputeEstimate(limited);
    if (!before.ok()) continue;
    ASSERT_TRUE(after.ok()) << Describe(scenario) << after.status();
    ++compared;
    // Waves have equal batches of whole sequences, so that up to a sequence a wave is counted and not there.
    const double spare = 1 + 1.0 * after->waves * scenario.deployment.data_parallel / scenario.workload.batch_size;
    const double slack = (after->waves > 1 ? spare : 1) * 1.005;
    EXPECT_GE(after->throughput.output_tokens_per_second * slack, before->throughput.output_tokens_per_second)
        << Describe(scenario) << " " << before->waves << " " << after->waves;
    if (before->waves == after->waves) {
      EXPECT_LE(after->e2e.time.value(), before->e2e.time.value() * (1 + kRounding)) << Describe(scenario);
    }
  }
  EXPECT_GT(compared, 500);
}

}  // namespace
}  // namespace foretoken
