// Closed loops against an engine that is simulated step by step.
#include <gtest/gtest.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "estimator/methods/estimator.h"
#include "estimator/methods/operator_model.h"
#include "estimator/step/step_model.h"
#include "tests/estimator/fixtures.h"

namespace foretoken {
namespace {

Scenario ClosedLoop(const Model& model, const Hardware& hardware, int concurrency, int prompt, int output) {
  Scenario scenario = MakeScenario(model, hardware, concurrency, prompt, output);
  scenario.workload.batching = BatchingPolicy::kContinuous;
  return scenario;
}

// An engine that admits at no cost and mixes prompts with decode steps: requests follow each other in a train.
Efficiencies InATrain() {
  Efficiencies efficiencies = GenericPrior();
  efficiencies.admission = efficiencies.admission_per_request = Seconds(0);
  efficiencies.prefill_share = 1;
  return efficiencies;
}

// Mean times of a request from its arrival to its first and to its last token.
struct MeanTimes {
  double ttft = 0, e2e = 0;
};

// The slow oracle: an engine that runs step by step, each step decoding everyone and prefilling the oldest prompts, as
// many as 8,192 tokens hold. Who has its last token asks again at once, when the next step has begun.
class SimulatedLoop {
 public:
  SimulatedLoop(const Scenario& scenario, const StepModel& model)
      : w_(scenario.workload), model_(model), waiting_(w_.batch_size, 0) {}

  // Of the second `requests`; the first are the start.
  MeanTimes Run(int requests) {
    while (done_ < 2 * requests) {
      if (running_.empty() && waiting_.empty()) waiting_ = std::exchange(arriving_, {});
      const size_t prompts = std::min<size_t>(waiting_.size(), 8192 / w_.prompt_tokens);
      now_ += StepOf(prompts);
      waiting_.insert(waiting_.end(), arriving_.begin(), arriving_.end());
      arriving_.clear();
      Decode(requests);
      Prefilled(prompts, requests);
    }
    return {sums_.ttft / started_, sums_.e2e / requests};
  }

 private:
  struct Request {
    double arrival = 0;
    int made = 0;
  };

  double StepOf(size_t prompts) const {
    const double decoding = static_cast<double>(running_.size());
    StepShape step{.decode_sequences = decoding, .logits_rows = decoding};
    for (const Request& r : running_) step.decode_context += (w_.prompt_tokens + r.made) / decoding;
    if (prompts > 0) {
      step.prefill_sequences = static_cast<double>(prompts);
      step.prefill_tokens = w_.prompt_tokens;
      step.logits_rows += static_cast<double>(prompts);
    }
    return StepTime(model_, step).Total().value();
  }

  void Decode(int requests) {
    for (size_t i = running_.size(); i-- > 0;) {
      if (++running_[i].made < w_.output_tokens) continue;
      if (++done_ > requests) sums_.e2e += now_ - running_[i].arrival;
      running_.erase(running_.begin() + static_cast<long>(i));
      arriving_.push_back(now_);
    }
  }

  void Prefilled(size_t prompts, int requests) {
    for (size_t i = 0; i < prompts; ++i) {
      running_.push_back({waiting_[i], 1});
      if (done_ < requests) continue;
      sums_.ttft += now_ - waiting_[i];
      ++started_;
    }
    waiting_.erase(waiting_.begin(), waiting_.begin() + static_cast<long>(prompts));
  }

  const Workload& w_;
  const StepModel& model_;
  std::vector<double> waiting_, arriving_;  // when each came
  std::vector<Request> running_;
  double now_ = 0;
  int done_ = 0, started_ = 0;
  MeanTimes sums_;
};

MeanTimes Simulated(const Scenario& scenario) {
  std::vector<Warning> warnings;
  const StepModel step = *MakeStepModel(scenario, InATrain(), &warnings);
  return SimulatedLoop(scenario, step).Run(40 * scenario.workload.batch_size);
}

Estimate By(const Scenario& scenario) {
  const absl::StatusOr<Estimate> estimate = EstimateOperatorModel(scenario, InATrain(), Provenance::kDatasheet, {});
  EXPECT_TRUE(estimate.ok()) << estimate.status();
  return estimate.ok() ? *estimate : Estimate{};
}

TEST(ClosedLoopOracleTest, AgreesWithAnEngineStepByStep) {
  const Model model = Llama2_7b();
  const Hardware hardware = A100();
  for (const int concurrency : {1, 2, 8, 32, 64}) {
    for (const int output : {2, 20, 200}) {
      for (const int prompt : {60, 800}) {
        const Scenario scenario = ClosedLoop(model, hardware, concurrency, prompt, output);
        // Two that ask for two tokens keep in step, and wait for nobody.
        if (concurrency == 2 && output == 2 && prompt < 100) continue;
        // Short prompts come in bursts, which the mean does not know.
        const double bound = (output > 2 ? 0.08 : 0.15) + (prompt < 100 ? 0.04 : 0);
        EXPECT_NEAR(By(scenario).e2e.time.value() / Simulated(scenario).e2e, 1, bound)
            << concurrency << " " << prompt << " " << output;
      }
    }
  }
}

// Long prompts, one to a step: the first token waits for the prompt of the one that came just before.
TEST(ClosedLoopOracleTest, TheFirstTokenAgreesWithAnEngineStepByStep) {
  const Model model = Llama2_7b();
  Hardware hardware = A100();
  hardware.memory_capacity = Gibibytes(640);
  for (const int concurrency : {1, 2, 4, 8, 16, 32}) {
    for (const int prompt : {5000, 8000}) {
      for (const int output : {300, 1000}) {
        const Scenario scenario = ClosedLoop(model, hardware, concurrency, prompt, output);
        EXPECT_NEAR(By(scenario).ttft.time.value() / Simulated(scenario).ttft, 1, 0.08)
            << concurrency << " " << prompt << " " << output;
      }
    }
  }
}

}  // namespace
}  // namespace foretoken
