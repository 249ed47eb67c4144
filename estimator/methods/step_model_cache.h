// Keeps step models, so that scenarios which differ in their workload alone do not derive them again: one per caller
// (StepModelMemo), and many for all callers of a catalog (StepModelCache).
#ifndef FORETOKEN_ESTIMATOR_METHODS_STEP_MODEL_CACHE_H_
#define FORETOKEN_ESTIMATOR_METHODS_STEP_MODEL_CACHE_H_

#include <array>
#include <atomic>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "estimator/scenario/efficiencies.h"
#include "estimator/scenario/estimate.h"
#include "estimator/scenario/scenario.h"
#include "estimator/step/step.h"
#include "estimator/step/step_model.h"

namespace foretoken {

// A scenario's step model, or why there is none, and the warnings of every estimate made from it.
struct DerivedModel {
  absl::StatusOr<StepModel> model;
  std::vector<Warning> warnings;
};

// Step models by their inputs. Only grows, up to kSlots entries of about 2 KB; a model that finds no slot is derived
// again each time. Thread-safe without a lock. REQUIRES: what the inputs point to outlives the cache, unchanged.
class StepModelCache {
 public:
  StepModelCache() = default;
  ~StepModelCache();
  StepModelCache(const StepModelCache&) = delete;
  StepModelCache& operator=(const StepModelCache&) = delete;

  // Null: no slot is left for these inputs.
  const DerivedModel* FindOrDerive(const StepModelInputs& inputs) const;

 private:
  struct Entry {
    StepModelInputs key;
    DerivedModel derived;
  };
  static constexpr size_t kSlots = 1 << 11;
  static constexpr size_t kProbes = 8;

  mutable std::array<std::atomic<const Entry*>, kSlots> slots_{};
};

// The step model of one caller's last scenario. Not thread-safe.
class StepModelMemo {
 public:
  // Valid until the next call of Get or Forget. REQUIRES: since the last Forget, scenarios of one model, hardware and
  // deployment.
  const DerivedModel& Get(const Scenario& scenario, const Efficiencies& efficiencies);

  // The next scenario is of another model, hardware or deployment. `cache` (may be null) knows both objects.
  void Forget(const StepModelCache* cache);

 private:
  const StepModelCache* cache_ = nullptr;
  const Efficiencies* efficiencies_ = nullptr;  // null: nothing is kept
  ExpertRouting routing_ = ExpertRouting::kIndependent;
  const DerivedModel* kept_ = nullptr;
  std::optional<DerivedModel> own_;  // where the cache has none
};

}  // namespace foretoken

#endif  // FORETOKEN_ESTIMATOR_METHODS_STEP_MODEL_CACHE_H_
