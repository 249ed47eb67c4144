// Runs at constant concurrency as benchmarks drive them, against an engine that is simulated step by step: requests
// start together, outputs have many lengths, and engines order prompts and decodes each in their way.
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <random>
#include <utility>
#include <vector>

#include "estimator/methods/estimator.h"
#include "estimator/methods/operator_model.h"
#include "estimator/step/step_model.h"
#include "tests/estimator/fixtures.h"

namespace foretoken {
namespace {

Efficiencies AdmittingAtNoCost() {
  Efficiencies efficiencies = GenericPrior();
  efficiencies.admission = efficiencies.admission_per_request = efficiencies.admission_per_token = Seconds(0);
  return efficiencies;
}

Estimate By(const Scenario& scenario, const Efficiencies& efficiencies) {
  const absl::StatusOr<Estimate> estimate = EstimateOperatorModel(scenario, efficiencies, Provenance::kDatasheet, {});
  EXPECT_TRUE(estimate.ok()) << estimate.status();
  return estimate.ok() ? *estimate : Estimate{};
}

Scenario RunOf(const Model& model, const Hardware& hardware, int concurrency, int prompt, int output) {
  Scenario scenario = MakeScenario(model, hardware, concurrency, prompt, output);
  scenario.workload.batching = BatchingPolicy::kContinuous;
  scenario.workload.closed_loop_requests = 10 * concurrency;
  return scenario;
}

struct MeanTimes {
  double ttft = 0, tpot = 0;
};

// The slow oracle. An engine schedules a step while the one before runs: whoever takes the place of a request that
// ended meets two steps that it is not in.
class SimulatedRun {
 public:
  SimulatedRun(const Scenario& scenario, const StepModel& model)
      : s_(scenario), w_(scenario.workload), model_(model), scheduler_(SchedulerOf(scenario.deployment)) {
    for (int i = 0; i < w_.batch_size; ++i) waiting_.push_back(Next());
  }

  MeanTimes Means() {
    while (ended_ < *w_.closed_loop_requests) {
      if (running_.empty() && waiting_.empty()) Arrive(), Arrive();
      Step();
      Arrive();
    }
    return {sums_.ttft / ended_, sums_.tpot / ended_};
  }

 private:
  struct Request {
    double arrival = 0, first_token = 0;
    int prompt = 0, output = 0, prefilled = 0, made = 0;

    bool decodes() const { return prefilled == prompt; }
  };
  struct Chunk {
    size_t of = 0;
    int tokens = 0;
  };

  int Draw(int mean, int spread) { return mean - spread + static_cast<int>(random_() % (2 * spread + 1u)); }

  Request Next() {
    ++offered_;
    return {.arrival = now_,
            .prompt = Draw(w_.prompt_tokens, w_.prompt_spread_tokens),
            .output = Draw(w_.output_tokens, w_.output_spread_tokens)};
  }

  // A step has ended: who took a place two steps ago can be scheduled.
  void Arrive() {
    waiting_.insert(waiting_.end(), arriving_.begin(), arriving_.end());
    arriving_ = std::exchange(coming_, std::exchange(replacing_, {}));
  }

  bool MayStart() const {
    const int most = s_.deployment.max_num_seqs.value_or(1 << 30);
    return !waiting_.empty() && static_cast<int>(running_.size()) < most;
  }

  bool PrefillsOnly() const {
    const auto partial = [](const Request& r) { return !r.decodes(); };
    return scheduler_ == SchedulerPolicy::kPrefillFirst &&
           (MayStart() || std::any_of(running_.begin(), running_.end(), partial));
  }

  std::vector<size_t> Decoding() const {
    std::vector<size_t> decoding;
    for (size_t i = 0; i < running_.size() && !PrefillsOnly(); ++i) {
      if (running_[i].decodes()) decoding.push_back(i);
    }
    return decoding;
  }

  std::vector<Chunk> Prompts(int room) {
    std::vector<Chunk> chunks;
    const auto take = [&](size_t i) {
      const int tokens = std::min(room, running_[i].prompt - running_[i].prefilled);
      if (tokens > 0) chunks.push_back({i, tokens});
      room -= tokens;
    };
    const size_t before = running_.size();
    for (size_t i = 0; i < before; ++i) take(i);
    while (MayStart() && room > 0) {
      if (scheduler_ == SchedulerPolicy::kInFlight && waiting_.front().prompt > room) break;
      running_.push_back(waiting_.front());
      waiting_.pop_front();
      take(running_.size() - 1);
    }
    return chunks;
  }

  void Step() {
    const std::vector<size_t> decoding = Decoding();
    const auto sequences = static_cast<double>(decoding.size());
    const bool mixes = scheduler_ != SchedulerPolicy::kPrefillFirst || PrefillsOnly();
    const int room = s_.deployment.prefill_chunk_tokens.value_or(kStepTokens) - static_cast<int>(sequences);
    const std::vector<Chunk> chunks = mixes ? Prompts(room) : std::vector<Chunk>();
    const auto prompts = static_cast<double>(chunks.size());
    StepShape step{.decode_sequences = sequences, .prefill_sequences = prompts, .logits_rows = sequences + prompts};
    for (const size_t i : decoding) step.decode_context += (running_[i].prompt + running_[i].made) / sequences;
    for (const Chunk& c : chunks) {
      step.prefill_tokens += c.tokens / prompts;
      step.prefill_prior += running_[c.of].prefilled / prompts;
    }
    now_ += StepTime(model_, step).Total().value();
    for (const size_t i : decoding) ++running_[i].made;
    for (const Chunk& c : chunks) Prefill(running_[c.of], c.tokens);
    End();
  }

  void Prefill(Request& request, int tokens) {
    request.prefilled += tokens;
    if (!request.decodes()) return;
    request.made = 1;
    request.first_token = now_;
    sums_.ttft += now_ - request.arrival;
  }

  void End() {
    for (size_t i = running_.size(); i-- > 0;) {
      const Request& r = running_[i];
      if (r.made < r.output) continue;
      ++ended_;
      sums_.tpot += (now_ - r.first_token) / (r.output - 1);
      running_.erase(running_.begin() + static_cast<long>(i));
      if (offered_ < *w_.closed_loop_requests) replacing_.push_back(Next());
    }
  }

  const Scenario& s_;
  const Workload& w_;
  const StepModel& model_;
  const SchedulerPolicy scheduler_;
  std::mt19937 random_{1};
  std::deque<Request> waiting_;
  std::vector<Request> running_;
  std::vector<Request> arriving_, coming_, replacing_;  // after two steps, one and none
  double now_ = 0;
  int offered_ = 0, ended_ = 0;
  MeanTimes sums_;
};

MeanTimes Simulated(const Scenario& scenario) {
  std::vector<Warning> warnings;
  const StepModel step = *MakeStepModel(scenario, AdmittingAtNoCost(), &warnings);
  return SimulatedRun(scenario, step).Means();
}

void ExpectNear(const Scenario& scenario, double ttft_bound, double tpot_bound) {
  const Workload& w = scenario.workload;
  SCOPED_TRACE(testing::Message() << w.batch_size << " " << w.prompt_tokens << " " << w.output_tokens << " "
                                  << static_cast<int>(SchedulerOf(scenario.deployment)));
  const Estimate estimate = By(scenario, AdmittingAtNoCost());
  const MeanTimes simulated = Simulated(scenario);
  EXPECT_NEAR(estimate.ttft.time.value() / simulated.ttft, 1, ttft_bound);
  EXPECT_NEAR(estimate.tpot.time.value() / simulated.tpot, 1, tpot_bound);
}

TEST(ClosedLoopRunTest, WavesAgreeWithAnEngineStepByStep) {
  const Model model = Llama2_7b();
  Hardware hardware = A100();
  hardware.memory_capacity = Gibibytes(640);
  for (const int concurrency : {1, 4, 16, 64}) {
    for (const int prompt : {100, 1000, 5000}) {
      for (const int output : {2, 20, 200}) {
        Scenario scenario = RunOf(model, hardware, concurrency, prompt, output);
        scenario.deployment.scheduler = SchedulerPolicy::kPrefillFirst;
        // A step takes 1.6 prompts of 5,000 tokens: which of them end in it, the mean does not know.
        const bool cut = prompt == 5000;
        ExpectNear(scenario, cut ? 0.07 : 0.02, cut && output == 2 ? 0.21 : cut ? 0.11 : 0.02);
      }
    }
  }
}

TEST(ClosedLoopRunTest, LengthsThatDifferAgreeWithAnEngineStepByStep) {
  const Model model = Llama2_7b();
  Hardware hardware = A100();
  hardware.memory_capacity = Gibibytes(640);
  for (const SchedulerPolicy scheduler :
       {SchedulerPolicy::kMixed, SchedulerPolicy::kPrefillFirst, SchedulerPolicy::kInFlight}) {
    for (const int concurrency : {4, 16, 64}) {
      for (const int prompt : {1000, 6000}) {
        for (const int output : {300, 1000}) {
          Scenario scenario = RunOf(model, hardware, concurrency, prompt, output);
          scenario.deployment.scheduler = scheduler;
          scenario.workload.prompt_spread_tokens = prompt / 10;
          scenario.workload.output_spread_tokens = output / 10;
          // Where prompts take most of the time, they queue for each other.
          const bool crowded = concurrency == 64 && output == 300;
          ExpectNear(scenario, crowded ? 0.18 : 0.08, 0.03);
        }
      }
    }
  }
}

// A quarter of the requests finds a slot.
TEST(ClosedLoopRunTest, TheQueueOfARunAgreesWithAnEngineStepByStep) {
  const Model model = Llama2_7b();
  const Hardware hardware = A100();
  for (const int rounds : {1, 2, 10}) {
    Scenario scenario = RunOf(model, hardware, 32, 500, 100);
    scenario.workload.closed_loop_requests = rounds * 32;
    scenario.workload.output_spread_tokens = 10;
    scenario.deployment.max_num_seqs = 8;
    ExpectNear(scenario, rounds == 10 ? 0.04 : 0.12, 0.05);
  }
}

// Llama-2-7B, 4 in the loop, 100 tokens in, 11 out, where only arithmetic takes time (closed_loop_test.cc): a prompt
// p1 = 12.981108736 ms, a decode step of four t(4) = 0.52856619008 ms. A step takes one prompt.
//   The mean request waits for 1.5 prompts before its own, and decodes after 1.5 others:
//   TTFT = 2.5 p1 = 32.45277184 ms, TPOT = t(4) + 1.5 p1/10 = 2.4757325005 ms.
// If a step takes all four prompts, TTFT = 4 p1 = 51.924434944 ms and TPOT = t(4).
TEST(ClosedLoopRunTest, WavesByHand) {
  const Model model = Llama2_7b();
  const Hardware hardware = ArithmeticOnly();
  Scenario scenario = RunOf(model, hardware, 4, 100, 11);
  scenario.deployment.engine = "sglang@0.5.6";
  scenario.deployment.prefill_chunk_tokens = 100;
  const Estimate one = By(scenario, {});
  EXPECT_NEAR(one.ttft.time.value(), 32.45277184e-3, 1e-11);
  EXPECT_NEAR(one.tpot.time.value(), 2.4757325005e-3, 1e-12);
  scenario.deployment.prefill_chunk_tokens = 400;
  const Estimate all = By(scenario, {});
  EXPECT_NEAR(all.ttft.time.value(), 51.924434944e-3, 1e-11);
  EXPECT_NEAR(all.tpot.time.value(), 0.52856619008e-3, 1e-13);
}

// The same with outputs of 6 to 16 tokens, 40 requests, and prompts beside decodes. A third of four beside a prompt
// adds 4/3 x 0.13214154752 = 0.17618873003 ms, three add 0.39642464256 ms; three other prompts are 3 p1 =
// 38.943326208 ms, of which 2 of 12 steps hold 6.490554368 ms.
//   first round: p1 + 0.17618873003 + 1.5 x 13.15729746603, which is p1 + 19.912134929
//   later: p1 + 2 t(4) + 6.490554368 + 0.39642464256, which is p1 + 7.9441113907
//   TTFT = p1 + 0.1 x 19.912134929 + 0.9 x 7.9441113907 = 22.122022481 ms
//   TPOT = t(4) + 0.95 x 32.45277184/10 = 3.6115795149 ms
// In a steady state there are no first rounds: TTFT = 20.925220127 ms, TPOT = t(4) + 3.245277184 ms.
TEST(ClosedLoopRunTest, LengthsThatDifferByHand) {
  const Model model = Llama2_7b();
  const Hardware hardware = ArithmeticOnly();
  Scenario scenario = RunOf(model, hardware, 4, 100, 11);
  scenario.workload.output_spread_tokens = 5;
  scenario.deployment.prefill_chunk_tokens = 100;
  const Estimate run = By(scenario, {});
  EXPECT_NEAR(run.ttft.time.value(), 22.122022481e-3, 1e-11);
  EXPECT_NEAR(run.tpot.time.value(), 3.6115795149e-3, 1e-12);
  scenario.workload.closed_loop_requests.reset();
  const Estimate steady = By(scenario, {});
  EXPECT_NEAR(steady.ttft.time.value(), 20.925220127e-3, 1e-11);
  EXPECT_NEAR(steady.tpot.time.value(), 3.7738433741e-3, 1e-12);
}

// Two of four run at once. In ten rounds of four, half of the first round waits for no turn and the other half for one,
// and all others wait for one: 1 - 1/20 = 0.95 turns on average, 1 in a steady state. The turns are as long.
TEST(ClosedLoopRunTest, TheQueueOfARunByHand) {
  const Model model = Llama2_7b();
  const Hardware hardware = ArithmeticOnly();
  Scenario scenario = RunOf(model, hardware, 2, 100, 11);
  scenario.workload.closed_loop_requests.reset();
  const double turn = By(scenario, {}).e2e.time.value();
  scenario.workload.batch_size = 4;
  scenario.deployment.max_num_seqs = 2;
  const Estimate steady = By(scenario, {});
  EXPECT_NEAR(steady.e2e.time.value(), 2 * turn, 1e-12);
  ASSERT_FALSE(steady.warnings.empty());
  EXPECT_EQ(steady.warnings.front().field, "workload.batch_size");
  scenario.workload.closed_loop_requests = 40;
  const Estimate run = By(scenario, {});
  EXPECT_NEAR(run.e2e.time.value(), 1.95 * turn, 1e-12);
  EXPECT_DOUBLE_EQ(run.throughput.requests_per_second, steady.throughput.requests_per_second);
}

// An engine that evicts nothing counts slots at the ends of outputs, others halfway.
TEST(ClosedLoopRunTest, WhoEvictsNothingRunsFewer) {
  const Model model = Llama2_7b();
  const Hardware hardware = A100();
  Scenario scenario = RunOf(model, hardware, 200, 500, 2000);
  const Estimate halfway = By(scenario, AdmittingAtNoCost());
  scenario.deployment.scheduler = SchedulerPolicy::kInFlight;
  const Estimate to_end = By(scenario, AdmittingAtNoCost());
  EXPECT_LT(to_end.tpot.time, halfway.tpot.time);
  EXPECT_GT(to_end.ttft.time, halfway.ttft.time);
}

TEST(SchedulerTest, IsTheStatedOneOrTheEngines) {
  EXPECT_EQ(SchedulerOf({}), SchedulerPolicy::kMixed);
  Deployment deployment;
  deployment.engine = "sglang";
  EXPECT_EQ(SchedulerOf(deployment), SchedulerPolicy::kPrefillFirst);
  deployment.engine = "tensorrt-llm@1.0.0";
  EXPECT_EQ(SchedulerOf(deployment), SchedulerPolicy::kInFlight);
  deployment.scheduler = SchedulerPolicy::kMixed;
  EXPECT_EQ(SchedulerOf(deployment), SchedulerPolicy::kMixed);
}

}  // namespace
}  // namespace foretoken
