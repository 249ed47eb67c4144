#include "estimator/methods/step_model_cache.h"

#include <memory>
#include <tuple>

#include "absl/hash/hash.h"

namespace foretoken {
namespace {

DerivedModel Derive(const StepModelInputs& inputs) {
  std::vector<Warning> warnings;
  absl::StatusOr<StepModel> model = MakeStepModel(inputs, &warnings);
  return {std::move(model), std::move(warnings)};
}

// Over the fields that differ most; comparing tells the rest apart.
size_t HashOf(const StepModelInputs& inputs) {
  const Placement& placement = inputs.placement;
  return absl::Hash<std::tuple<const void*, const void*, const void*, int, int, int>>()(
      {inputs.model, inputs.hardware, inputs.efficiencies, placement.tensor_parallel,
       static_cast<int>(placement.weight_dtype), static_cast<int>(placement.kv_cache_dtype)});
}

}  // namespace

StepModelCache::~StepModelCache() {
  for (const std::atomic<const Entry*>& slot : slots_) delete slot.load(std::memory_order_relaxed);
}

const DerivedModel* StepModelCache::FindOrDerive(const StepModelInputs& inputs) const {
  const size_t hash = HashOf(inputs);
  std::unique_ptr<const Entry> made;
  for (size_t probe = 0; probe < kProbes; ++probe) {
    std::atomic<const Entry*>& slot = slots_[(hash + probe) % kSlots];
    const Entry* entry = slot.load(std::memory_order_acquire);
    if (entry == nullptr) {
      if (made == nullptr) made.reset(new Entry{inputs, Derive(inputs)});
      // Another thread may have been first: then `entry` is what it put there.
      if (slot.compare_exchange_strong(entry, made.get(), std::memory_order_acq_rel)) return &made.release()->derived;
    }
    if (entry->key == inputs) return &entry->derived;
  }
  return nullptr;
}

const DerivedModel& StepModelMemo::Get(const Scenario& scenario, const Efficiencies& efficiencies) {
  const ExpertRouting routing = scenario.workload.expert_routing;
  if (efficiencies_ == &efficiencies && routing_ == routing) return *kept_;
  efficiencies_ = &efficiencies;
  routing_ = routing;
  const StepModelInputs inputs = StepModelInputs::Of(scenario, efficiencies);
  kept_ = cache_ == nullptr ? nullptr : cache_->FindOrDerive(inputs);
  if (kept_ == nullptr) kept_ = &own_.emplace(Derive(inputs));
  return *kept_;
}

void StepModelMemo::Forget(const StepModelCache* cache) {
  cache_ = cache;
  efficiencies_ = nullptr;
}

}  // namespace foretoken
