// The requests of a simulation in order: when each arrives, when admission lets it queue, and how long it is.
#ifndef FORETOKEN_ESTIMATOR_SIMULATION_REQUESTS_H_
#define FORETOKEN_ESTIMATOR_SIMULATION_REQUESTS_H_

#include <cstdint>
#include <deque>
#include <optional>

#include "estimator/scenario/efficiencies.h"
#include "estimator/simulation/lengths.h"
#include "estimator/simulation/spec.h"

namespace foretoken {

struct SimulatedArrival {
  double arrival = 0;  // seconds
  double queued = 0;   // arrival and admission
  int prompt = 1;
  int output = 1;
};

class RequestSource {
 public:
  // Admission takes a0 + a1 * (requests that arrive together), beside the steps of the engine, as a static batch has it
  // in its prefill. There are `most` requests in all; absent: a closed loop never ends.
  RequestSource(const Scenario& scenario, const SimulationSpec& spec, const Efficiencies& efficiencies,
                std::optional<int64_t> most);

  // When the next request queues, seconds; infinity: none will, unless others end first.
  double NextQueued();
  // REQUIRES: NextQueued() is finite.
  SimulatedArrival Take();
  // So many requests ended at `now`: a closed loop replaces them.
  void Ended(double now, int64_t count);

 private:
  void Draw();
  void Push(SimulatedArrival arrival, double together);
  void StartLoop(int64_t concurrency, bool staggered);
  bool MayIssue() const { return !most_ || issued_ < *most_; }

  Seconds admission_, admission_per_request_, per_prompt_token_;
  LengthSampler prompts_, outputs_;
  std::optional<int64_t> most_;
  int64_t issued_ = 0;
  bool loop_ = false;
  double rate_ = 0;   // of an open loop
  double shape_ = 1;  // of its gaps
  Random gaps_;
  double last_arrival_ = 0;
  double last_queued_ = 0;
  std::deque<SimulatedArrival> pending_;
};

}  // namespace foretoken

#endif  // FORETOKEN_ESTIMATOR_SIMULATION_REQUESTS_H_
