// Random questions that go to the limits of the API: every number as large or as small as a request may state it, alone
// or with others, and every feature that makes an estimate dear. Sound as past the edge of the server, and answered or
// refused.
#ifndef FORETOKEN_TESTS_ESTIMATOR_EXTREME_SCENARIOS_H_
#define FORETOKEN_TESTS_ESTIMATOR_EXTREME_SCENARIOS_H_

#include <deque>

#include "estimator/scenario/scenario.h"
#include "tests/estimator/random_scenarios.h"

namespace foretoken {

// REQUIRES: outlives its scenarios, whose models and hardware it owns.
class ExtremeScenarios {
 public:
  explicit ExtremeScenarios(unsigned seed) : source_(seed) {}

  // Any scenario of RandomScenarios with some of its inputs far out.
  Scenario Next();

  RandomScenarios& source() { return source_; }

 private:
  void Enlarge(Workload& workload);
  void Spread(Scenario& scenario);
  void Draft(Scenario& scenario);
  void Disaggregate(Scenario& scenario);
  void VaryLengths(Workload& workload);
  void Arrive(Scenario& scenario);
  void Load(Scenario& scenario);

  RandomScenarios source_;
  std::deque<Model> models_;
  std::deque<Hardware> hardware_;
};

}  // namespace foretoken

#endif  // FORETOKEN_TESTS_ESTIMATOR_EXTREME_SCENARIOS_H_
