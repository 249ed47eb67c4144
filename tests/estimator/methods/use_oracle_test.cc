// What an estimate says beside its times (their parts, utilisations, energy, cost) against the same counted layer by
// layer and step by step (slow_oracle.h), on hardware that states watts, at a price.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/estimator/random_scenarios.h"
#include "tests/estimator/slow_oracle.h"

namespace foretoken {
namespace {

constexpr int kScenarios = 2000;

// Draws the watts of a device and the price of it.
class Priced {
 public:
  Priced(RandomScenarios& source, const Hardware& hardware) : hardware_(hardware), price_(source.Uniform(0.1, 20)) {
    hardware_.tdp_watts = source.LogUniform(10, 2000);
    hardware_.idle_watts.reset();
    if (!source.OneIn(3)) hardware_.idle_watts = *hardware_.tdp_watts * source.Uniform(0.05, 0.6);
  }
  const Hardware& hardware() const { return hardware_; }
  double price() const { return price_; }

 private:
  Hardware hardware_;
  double price_;
};

Scenario NextShort(RandomScenarios& source, KvCacheMode mode) {
  Scenario s = source.NextBatch();
  while (s.workload.kv_cache_mode != mode || s.workload.output_tokens > 1000) s = source.NextBatch();
  return s;
}

// Sums of more terms than are taken one by one.
bool SumsAreSampled(const Scenario& s) {
  const double chunk = s.deployment.prefill_chunk_tokens.value_or(s.workload.prompt_tokens);
  const double chunks = (s.workload.prompt_tokens - s.workload.cached_prefix_tokens) / chunk;
  return chunks > 32 || s.workload.kv_cache_mode == KvCacheMode::kNone ||
         (s.model->sliding_window && s.model->sliding_window->chunked);
}

// How far parts may be off, of their phase. At s = infinity a term is all compute or all memory: where that changes
// within one of the 8 panels, three Gauss nodes place the change to 2/9 of the panel, and the last panel has up to
// twice the mean's time.
double BoundOf(const Scenario& s) {
  if (!SumsAreSampled(s)) return 1e-3;
  return std::isinf(s.deployment.roofline_exponent) ? 2.0 / 9 / 8 * 2 : 1e-3;
}

void ExpectParts(const TimeParts& parts, const Spent& slow, double bound) {
  const double slack = bound * slow.Total();
  EXPECT_NEAR(parts.compute.value(), slow.compute, slack);
  EXPECT_NEAR(parts.memory.value(), slow.memory, slack);
  EXPECT_NEAR(parts.communication.value(), slow.communication, slack);
  EXPECT_NEAR(parts.host.value(), slow.host, slack);
  EXPECT_NEAR(parts.queueing.value(), slow.queueing, slack);
}

TEST(UseOracleTest, PartsOfTheDecodeAreTheSlowSum) {
  RandomScenarios source(51);
  for (int i = 0; i < kScenarios; ++i) {
    const Scenario s = NextShort(source, KvCacheMode::kCached);
    const double exponent = s.deployment.roofline_exponent;
    const bool line = (exponent == 1 || std::isinf(exponent)) && !SumsAreSampled(s);
    ExpectParts(*MustEstimate(s).decode.parts, SlowOracle(s, GenericPrior()).Decode(), line ? 1e-9 : BoundOf(s));
    ASSERT_FALSE(HasFailure()) << Describe(s);
  }
}

TEST(UseOracleTest, PartsOfThePrefillAreTheSlowSum) {
  RandomScenarios source(52);
  for (int i = 0; i < kScenarios; ++i) {
    const Scenario s = NextShort(source, KvCacheMode::kCached);
    const double bound = SumsAreSampled(s) ? BoundOf(s) : 1e-9;
    ExpectParts(*MustEstimate(s).prefill.parts, SlowOracle(s, GenericPrior()).Prefill(), bound);
    ASSERT_FALSE(HasFailure()) << Describe(s);
  }
}

TEST(UseOracleTest, UtilisationsAreTheCountOfBytesAndFlops) {
  RandomScenarios source(53);
  for (int i = 0; i < kScenarios; ++i) {
    const Scenario s = NextShort(source, KvCacheMode::kCached);
    const Estimate e = MustEstimate(s);
    const SlowOracle oracle(s, GenericPrior());
    if (e.decode_steps > 0) {
      const double mbu = oracle.Mbu(oracle.batch(), oracle.Decode().Total());
      ASSERT_NEAR(*e.mbu, mbu, 1e-3 * mbu) << Describe(s);
    }
    const double mfu = oracle.Mfu(oracle.batch(), oracle.Prefill().Total());
    ASSERT_NEAR(*e.mfu, mfu, 1e-3 * mfu) << Describe(s);
  }
}

TEST(UseOracleTest, KvCacheIsTheCountOfBlocks) {
  RandomScenarios source(58);
  for (int i = 0; i < kScenarios; ++i) {
    const Scenario s = NextShort(source, KvCacheMode::kCached);
    const SlowOracle oracle(s, GenericPrior());
    const double kept = oracle.batch() * oracle.KvKept();
    ASSERT_NEAR(MustEstimate(s).memory->kv_cache.value(), kept, 1e-9 * kept) << Describe(s);
  }
}

// Absent where no more is known than that it is at least 0.
double JoulesOf(const Estimate& e) { return e.energy ? e.energy->joules_per_request : 0; }

double OneReplica(const Deployment& d) { return d.tensor_parallel * d.pipeline_parallel; }

// How far the energy of a request may be off: parts are off by a share of the time, at full power, and where the host
// takes most of the time that is more than the same share of the energy.
double JoulesSlack(const Scenario& s, double seconds, double joules) {
  if (!SumsAreSampled(s)) return BoundOf(s) * joules;
  return BoundOf(s) * *s.hardware->tdp_watts * OneReplica(s.deployment) * seconds;
}

// A batch: its requests share the energy of their replica's devices, and what all devices cost while it runs.
TEST(UseOracleTest, EnergyAndCostOfABatch) {
  RandomScenarios source(54);
  for (int i = 0; i < kScenarios; ++i) {
    Scenario s = NextShort(source, source.OneIn(5) ? KvCacheMode::kNone : KvCacheMode::kCached);
    const Priced priced(source, *s.hardware);
    s.hardware = &priced.hardware();
    s.deployment.price_per_device_hour = priced.price();
    const Estimate e = MustEstimate(s);
    const SlowOracle oracle(s, GenericPrior());
    const Spent prefill = oracle.Prefill();
    const Spent decode = oracle.Decode();
    const double joules = OneReplica(s.deployment) * (oracle.Joules(prefill) + oracle.Joules(decode)) / oracle.batch();
    const double slack = JoulesSlack(s, (prefill.Total() + decode.Total()) / oracle.batch(), joules);
    ASSERT_NEAR(JoulesOf(e), joules, slack) << Describe(s);
    if (e.energy) {
      ASSERT_NEAR(e.energy->joules_per_output_token * s.workload.output_tokens, joules, slack) << Describe(s);
      ASSERT_EQ(e.energy->is_lower_bound, !priced.hardware().idle_watts.has_value());
    }
    const double hours = (prefill.Total() + decode.Total()) / 3600;
    const double paid = priced.price() * OneReplica(s.deployment) * s.deployment.data_parallel * hours;
    ASSERT_NEAR(e.cost->per_request, paid / s.workload.batch_size, 1e-3 * e.cost->per_request) << Describe(s);
    const double tokens = 1.0 * s.workload.batch_size * s.workload.output_tokens;
    ASSERT_NEAR(e.cost->per_million_output_tokens, 1e6 * paid / tokens, 1e-3 * e.cost->per_million_output_tokens);
  }
}

// A prompt that is prefilled as it arrives takes the energy of all its chunks, not of those that are left at its end.
TEST(UseOracleTest, EnergyOfAPromptThatArrives) {
  RandomScenarios source(55);
  for (int i = 0; i < 200; ++i) {
    Scenario s = NextShort(source, KvCacheMode::kPipelinedPromptCache);
    s.deployment.pipeline_parallel = 1;
    const Priced priced(source, *s.hardware);
    s.hardware = &priced.hardware();
    const SlowOracle oracle(s, GenericPrior());
    const double one = (oracle.Joules(oracle.Prefill()) + oracle.Joules(oracle.Decode())) / oracle.batch();
    const double joules = OneReplica(s.deployment) * one;
    ASSERT_NEAR(MustEstimate(s).energy->joules_per_request, joules, BoundOf(s) * joules) << Describe(s);
  }
}

// Continuous batching: each request prefills with those that come for the same step, as many as a chunk holds, and
// decodes beside those that run.
TEST(UseOracleTest, EnergyAndCostOfAClosedLoop) {
  RandomScenarios source(56);
  for (int i = 0; i < kScenarios; ++i) {
    Scenario s = NextShort(source, KvCacheMode::kCached);
    s.workload.batching = BatchingPolicy::kContinuous;
    if (!s.deployment.prefill_chunk_tokens) s.deployment.prefill_chunk_tokens = 8192;
    const Priced priced(source, *s.hardware);
    s.hardware = &priced.hardware();
    s.deployment.price_per_device_hour = priced.price();
    const Estimate e = MustEstimate(s);
    const SlowOracle oracle(s, GenericPriorOf(true));
    const Workload& w = s.workload;
    const double fresh = w.prompt_tokens - w.cached_prefix_tokens;
    const double chunk = *s.deployment.prefill_chunk_tokens;
    const double chunks = std::ceil(fresh / std::min(fresh, chunk));
    const double steps = s.deployment.pipeline_parallel * (w.output_tokens - 1);
    const double together =
        std::clamp(oracle.batch() / (steps + s.deployment.pipeline_parallel), 1.0, std::max(1.0, chunk / fresh));
    const double running = std::min(oracle.batch(), together + std::floor(together * steps / chunks));
    const double one =
        oracle.Joules(oracle.Prefill(together)) / together + oracle.Joules(oracle.Decode(running)) / running;
    const double joules = OneReplica(s.deployment) * one;
    ASSERT_NEAR(JoulesOf(e), joules, BoundOf(s) * joules) << Describe(s);
    const double paid = priced.price() * OneReplica(s.deployment) * s.deployment.data_parallel / 3600;  // a second
    ASSERT_NEAR(e.cost->per_request * w.batch_size, paid * e.e2e.time.value(), 1e-9 * paid * e.e2e.time.value());
  }
}

// Prefill and decode on devices of their own, each with its watts and its price.
TEST(UseOracleTest, EnergyAndCostOfBothSides) {
  RandomScenarios source(57);
  for (int i = 0; i < kScenarios; ++i) {
    Scenario s = NextShort(source, KvCacheMode::kCached);
    s.workload.tokenizer_tokens_per_second.reset();
    s.workload.prefix_load.reset();
    const Priced here(source, *s.hardware);
    const Priced there(source, source.AnyHardware());
    s.hardware = &here.hardware();
    s.deployment.price_per_device_hour = here.price();
    Disaggregation d{.hardware = &there.hardware(), .deployment = s.deployment};
    d.deployment.price_per_device_hour = there.price();
    d.deployment.tensor_parallel = 1 << source.Pick(4);
    d.deployment.expert_parallel = d.deployment.data_parallel = 1;
    d.batch_size = 1 + source.Pick(8);
    d.prefill_replicas = 1 + source.Pick(4);
    d.decode_replicas = 1 + source.Pick(4);
    d.transfer = GigabytesPerSecond(source.LogUniform(1, 1000));
    s.disaggregation = d;
    Scenario prompts = s;
    prompts.hardware = d.hardware;
    prompts.deployment = d.deployment;
    prompts.workload.batch_size = d.batch_size;
    const Estimate e = MustEstimate(s);
    const SlowOracle prefill(prompts, GenericPrior());
    const SlowOracle decode(s, GenericPrior());
    const double joules = OneReplica(d.deployment) * prefill.Joules(prefill.Prefill()) / d.batch_size +
                          OneReplica(s.deployment) * decode.Joules(decode.Decode()) / decode.batch();
    ASSERT_NEAR(JoulesOf(e), joules, BoundOf(s) * joules) << Describe(s);
    const double paid = here.price() * s.deployment.devices() * d.decode_replicas +
                        there.price() * OneReplica(d.deployment) * d.prefill_replicas;  // an hour
    const double cost = paid / 3600 / e.throughput.requests_per_second;
    ASSERT_NEAR(e.cost->per_request, cost, 1e-9 * cost) << Describe(s);
  }
}

}  // namespace
}  // namespace foretoken
