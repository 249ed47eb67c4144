// What a simulation refuses, by the path of its field.
#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <span>
#include <string>

#include "estimator/base/errors.h"
#include "estimator/simulation/simulation.h"
#include "tests/estimator/simulation/fixtures.h"

namespace foretoken {
namespace {

struct Refused {
  const char* field;
  std::function<void(Scenario&, SimulationSpec&)> change;
};

// Each change by itself is refused, by the path of its field.
void ExpectRefused(Reason reason, const std::string& prefix, std::span<const Refused> cases) {
  const Model model = Llama2_7b();
  const Hardware hardware = A100();
  for (const Refused& c : cases) {
    Scenario scenario = Served(model, hardware, 4, 100, 10);
    SimulationSpec spec;
    c.change(scenario, spec);
    const auto result = Simulate(scenario, spec, GenericServedPrior(), NeverCancelled);
    const RefusalDetail detail = DetailOf(result.status());
    EXPECT_EQ(detail.reason, reason) << c.field;
    ASSERT_EQ(detail.violations.size(), 1) << c.field;
    EXPECT_EQ(detail.violations[0].field, prefix + c.field);
  }
}

TEST(SimulationRefusalTest, RefusesByNameWhatItDoesNotSimulate) {
  const Model model = Llama2_7b();
  const Hardware hardware = A100();
  const Refused cases[] = {
      {"speculative_decoding", [&](Scenario& s, SimulationSpec&) { s.speculation = Speculation{.draft = &model}; }},
      {"disaggregated_prefill",
       [&](Scenario& s, SimulationSpec&) { s.disaggregation = Disaggregation{.hardware = &hardware}; }},
      {"deployment.pipeline_parallel", [](Scenario& s, SimulationSpec&) { s.deployment.pipeline_parallel = 2; }},
      {"live_load", [](Scenario& s, SimulationSpec&) { s.live_load = LiveLoad{.running_sequences = 3}; }},
      {"method", [](Scenario& s, SimulationSpec&) { s.method = Method::kKpi; }},
      {"workload.batching_policy", [](Scenario& s, SimulationSpec&) { s.workload.batching = BatchingPolicy::kStatic; }},
      {"workload.kv_cache_mode", [](Scenario& s, SimulationSpec&) { s.workload.kv_cache_mode = KvCacheMode::kNone; }},
      {"workload.prefix_load_bytes_per_second",
       [](Scenario& s, SimulationSpec&) { s.workload.prefix_load = BytesPerSecond(1e9); }},
  };
  ExpectRefused(Reason::kNotModelled, "", cases);
}

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
using S = SimulationSpec;

TEST(SimulationRefusalTest, RefusesArrivalsOutsideTheirLimits) {
  const Refused cases[] = {
      {"closed_loop.concurrency", [](Scenario&, S& s) { s.arrivals = ClosedLoop{.concurrency = 0}; }},
      {"open_loop.requests_per_second", [](Scenario&, S& s) { s.arrivals = OpenLoop{.requests_per_second = kNan}; }},
      {"open_loop.requests_per_second", [](Scenario&, S& s) { s.arrivals = OpenLoop{}; }},
      {"open_loop.coefficient_of_variation",
       [](Scenario&, S& s) { s.arrivals = OpenLoop{.requests_per_second = 1, .cv = 0}; }},
      {"trace.requests", [](Scenario&, S& s) { s.arrivals = Trace{}; }},
      {"trace.requests[1].arrival_seconds",
       [](Scenario&, S& s) {
         s.arrivals = Trace{{{2, 1, 1}, {1, 1, 1}}};
       }},
      {"trace.requests[0].prompt_tokens",
       [](Scenario&, S& s) {
         s.arrivals = Trace{{{0, 0, 1}}};
       }},
      {"trace.requests[0].output_tokens",
       [](Scenario&, S& s) {
         s.arrivals = Trace{{{0, 1, -5}}};
       }},
  };
  ExpectRefused(Reason::kInvalidField, "simulation.", cases);
}

TEST(SimulationRefusalTest, RefusesLengthsOutsideTheirLimits) {
  const Refused cases[] = {
      {"prompt_lengths.fixed_tokens", [](Scenario&, S& s) { s.prompts = FixedLength{0}; }},
      {"prompt_lengths.uniform.low_tokens", [](Scenario&, S& s) { s.prompts = UniformLengths{.low = 0, .high = 2}; }},
      {"output_lengths.uniform.high_tokens", [](Scenario&, S& s) { s.outputs = UniformLengths{.low = 9, .high = 8}; }},
      {"output_lengths.log_normal.mean_tokens", [](Scenario&, S& s) { s.outputs = LogNormalLengths{.mean = kNan}; }},
      {"output_lengths.log_normal.coefficient_of_variation",
       [](Scenario&, S& s) { s.outputs = LogNormalLengths{.mean = 9, .cv = -1}; }},
      {"output_lengths.log_normal.max_tokens",
       [](Scenario&, S& s) { s.outputs = LogNormalLengths{.mean = 9, .max_tokens = 0}; }},
      {"output_lengths.distribution.mean_tokens",
       [](Scenario&, S& s) { s.outputs = OutputLengthDistribution{.mean_tokens = 0}; }},
      {"output_lengths.distribution.max_tokens",
       [](Scenario&, S& s) { s.outputs = OutputLengthDistribution{.mean_tokens = 9, .max_tokens = 8}; }},
      {"output_lengths.distribution.quantiles[0].probability",
       [](Scenario&, S& s) {
         s.outputs = OutputLengthDistribution{.mean_tokens = 9, .quantiles = {{0, 5}}};
       }},
      {"output_lengths.distribution.quantiles[1].tokens",
       [](Scenario&, S& s) {
         s.outputs = OutputLengthDistribution{.mean_tokens = 9, .quantiles = {{.5, 9}, {.9, 8}}};
       }},
      {"output_lengths.distribution.quantiles",
       [](Scenario&, S& s) {
         OutputLengthDistribution lengths{.mean_tokens = 9};
         lengths.quantiles.resize(1001);
         s.outputs = lengths;
       }},
  };
  ExpectRefused(Reason::kInvalidField, "simulation.", cases);
}

TEST(SimulationRefusalTest, RefusesASchedulerOutsideItsLimits) {
  const Refused cases[] = {
      {"scheduler.max_num_batched_tokens", [](Scenario&, S& s) { s.scheduler.max_num_batched_tokens = 0; }},
      {"scheduler.max_num_seqs", [](Scenario&, S& s) { s.scheduler.max_num_seqs = 20'000; }},
      {"scheduler.max_num_seqs",
       [](Scenario&, S& s) { s.scheduler = {.max_num_batched_tokens = 10, .max_num_seqs = 11}; }},
      {"scheduler.kv_block_tokens", [](Scenario&, S& s) { s.scheduler.kv_block_tokens = 0; }},
      {"scheduler.kv_tokens", [](Scenario&, S& s) { s.scheduler.kv_tokens = 0; }},
      {"scheduler.mixed_chunk",
       [](Scenario&, S& s) { s.scheduler = {.policy = SchedulerPolicy::kMixed, .mixed_chunk = true}; }},
      {"scheduler.chunked_prompt",
       [](Scenario&, S& s) { s.scheduler = {.policy = SchedulerPolicy::kMixed, .chunked_prompt = true}; }},
      {"scheduler.max_utilization",
       [](Scenario&, S& s) { s.scheduler = {.policy = SchedulerPolicy::kMixed, .max_utilization = true}; }},
  };
  ExpectRefused(Reason::kInvalidField, "simulation.", cases);
}

// The policy is the engine's: none, SGLang, SGLang.
TEST(SimulationRefusalTest, RefusesAnOptionThatTheEngineDoesNotHave) {
  const Refused cases[] = {
      {"scheduler.mixed_chunk", [](Scenario&, S& s) { s.scheduler.mixed_chunk = true; }},
      {"scheduler.chunked_prompt",
       [](Scenario& scenario, S& s) {
         scenario.deployment.engine = "sglang";
         s.scheduler.chunked_prompt = true;
       }},
      {"scheduler.max_utilization",
       [](Scenario& scenario, S& s) {
         scenario.deployment.engine = "sglang";
         s.scheduler.max_utilization = false;
       }},
  };
  ExpectRefused(Reason::kInvalidField, "simulation.", cases);
}

TEST(SimulationRefusalTest, RefusesARunOutsideItsLimits) {
  const Refused cases[] = {
      {"requests", [](Scenario&, S& s) { s.requests = 100'001; }},
      {"warmup_requests", [](Scenario&, S& s) { s.warmup_requests = -1; }},
      {"max_steps", [](Scenario&, S& s) { s.max_steps = 10'000'001; }},
      {"relative_error", [](Scenario&, S& s) { s.relative_error = kNan; }},
  };
  ExpectRefused(Reason::kInvalidField, "simulation.", cases);
}

TEST(SimulationRefusalTest, RefusesAWorkloadThatIsTooLarge) {
  const Refused cases[] = {
      {"workload.prompt_tokens", [](Scenario& s, SimulationSpec&) { s.workload.prompt_tokens = 0; }},
      {"workload.prompt_tokens", [](Scenario& s, SimulationSpec&) { s.workload.prompt_tokens = 10'000'001; }},
      {"workload.output_tokens", [](Scenario& s, SimulationSpec&) { s.workload.output_tokens = 10'000'001; }},
      {"workload.batch_size", [](Scenario& s, SimulationSpec&) { s.workload.batch_size = 16'385; }},
      {"live_load.max_num_seqs", [](Scenario& s, SimulationSpec&) { s.live_load = LiveLoad{.max_num_seqs = 16'385}; }},
      {"workload.output_length_distribution",
       [](Scenario& s, SimulationSpec&) {
         s.workload.output_lengths = OutputLengthDistribution{.mean_tokens = 9, .max_tokens = 2e7};
       }},
  };
  ExpectRefused(Reason::kInvalidField, "", cases);
}

}  // namespace
}  // namespace foretoken
