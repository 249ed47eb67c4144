// A closed loop that is simulated slowly and plainly: every step looks at every sequence.
#ifndef FORETOKEN_TESTS_ESTIMATOR_SLOW_LOOP_H_
#define FORETOKEN_TESTS_ESTIMATOR_SLOW_LOOP_H_

#include <algorithm>
#include <utility>
#include <vector>

#include "estimator/scenario/scenario.h"
#include "estimator/step/step.h"

namespace foretoken {

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

}  // namespace foretoken

#endif  // FORETOKEN_TESTS_ESTIMATOR_SLOW_LOOP_H_
