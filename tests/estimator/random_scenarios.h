// Random questions to the core model from a fixed seed: models and hardware of the catalog and made up ones, every
// deployment, workload and batching policy that the core model answers.
#ifndef FORETOKEN_TESTS_ESTIMATOR_RANDOM_SCENARIOS_H_
#define FORETOKEN_TESTS_ESTIMATOR_RANDOM_SCENARIOS_H_

#include <deque>
#include <random>
#include <string>
#include <vector>

#include "estimator/scenario/calibration.h"
#include "estimator/scenario/estimate.h"
#include "estimator/scenario/scenario.h"

namespace foretoken {

// Bundled models that are estimated, every bundled calibration, and their hardware.
struct BundledEntries {
  std::deque<Model> models;
  std::vector<const Model*> plain;  // of these: every layer has attention and an MLP
  std::vector<const Model*> mixed;  // the others (mixed_models.h)
  std::deque<Model> unsupported_models;
  std::deque<Hardware> hardware;
  std::deque<Calibration> calibrations;
};
const BundledEntries& Bundled();

// The hardware with room for everything, and every figure that it does not state.
Hardware Roomy(Hardware hardware);

// The models that questions are about.
enum class ModelKinds { kPlain, kMixed };

// REQUIRES: outlives its scenarios, whose models and hardware it owns.
class RandomScenarios {
 public:
  explicit RandomScenarios(unsigned seed, ModelKinds kinds = ModelKinds::kPlain) : random_(seed), kinds_(kinds) {}

  // A static batch, in any mode of the KV cache.
  Scenario NextBatch();
  // Any batching policy, live loads included; a rate may be more than the deployment serves.
  Scenario Next();

  int Pick(int n) { return static_cast<int>(random_() % static_cast<unsigned>(n)); }
  bool OneIn(int n) { return Pick(n) == 0; }
  double Uniform(double low, double high);
  // Whole numbers from `low` to `high`, as many of each order of magnitude.
  int LogUniform(int low, int high);
  const Model& AnyModel();
  const Hardware& AnyHardware();

 private:
  Model MakeModel();
  Hardware MakeHardware();
  void Parallelise(Scenario& scenario);
  void Tune(Deployment& deployment);
  void Cache(Workload& workload);
  void Load(Scenario& scenario);

  std::mt19937 random_;
  ModelKinds kinds_;
  std::deque<Model> models_;
  std::deque<Hardware> hardware_;
};

// What was asked, for messages of failed checks.
std::string Describe(const Scenario& scenario);

// The estimate, or a failed check.
Estimate MustEstimate(const Scenario& scenario);

}  // namespace foretoken

#endif  // FORETOKEN_TESTS_ESTIMATOR_RANDOM_SCENARIOS_H_
