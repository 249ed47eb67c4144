// What model, deployment and hardware decide, derived once and kept: by a caller for its next scenarios, and by whoever
// owns the models and hardware for all callers.
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

namespace foretoken {

// A scenario's step model, or why there is none, and what to warn of with every estimate made from it.
struct DerivedModel {
  absl::StatusOr<StepModel> model;
  std::vector<Warning> warnings;
};

// All that a step model follows from. Models, hardware and efficiencies count as the same where they are the same
// object.
struct StepModelKey {
  const Model* model = nullptr;
  const Hardware* hardware = nullptr;
  const Efficiencies* efficiencies = nullptr;
  int tensor_parallel = 1, pipeline_parallel = 1, expert_parallel = 1, data_parallel = 1;
  double expert_load_imbalance = 1;
  ExpertExchange expert_exchange = ExpertExchange::kAllGather;
  Dtype weight_dtype = Dtype::kUnspecified;
  Dtype activation_dtype = Dtype::kUnspecified;
  Dtype kv_cache_dtype = Dtype::kUnspecified;
  std::optional<int> devices_per_node;
  std::optional<BytesPerSecond> scale_out;
  AttentionKernel attention_kernel = AttentionKernel::kFlash;
  bool unfused_elementwise = false;
  double roofline_exponent = 2;
  ExpertRouting expert_routing = ExpertRouting::kIndependent;

  static StepModelKey Of(const Scenario& scenario, const Efficiencies& efficiencies);
  bool operator==(const StepModelKey&) const = default;
};

// Step models by what they follow from. Only grows, up to kSlots entries of about 2 KB: what finds no place is derived
// again each time. Thread-safe without a lock. Models, hardware and efficiencies asked about outlive it, unchanged.
class StepModelCache {
 public:
  StepModelCache() = default;
  ~StepModelCache();
  StepModelCache(const StepModelCache&) = delete;
  StepModelCache& operator=(const StepModelCache&) = delete;

  // Null: no place left near the key.
  const DerivedModel* FindOrDerive(const StepModelKey& key, const Scenario& scenario,
                                   const Efficiencies& efficiencies) const;

 private:
  struct Entry {
    StepModelKey key;
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
