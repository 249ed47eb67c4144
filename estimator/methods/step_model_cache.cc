#include "estimator/methods/step_model_cache.h"

#include <memory>
#include <tuple>

#include "absl/hash/hash.h"
#include "estimator/step/step_model.h"

namespace foretoken {
namespace {

DerivedModel Derive(const Scenario& scenario, const Efficiencies& efficiencies) {
  std::vector<Warning> warnings;
  absl::StatusOr<StepModel> model = MakeStepModel(scenario, efficiencies, &warnings);
  return {std::move(model), std::move(warnings)};
}

// Of the fields that differ most; the rest is told apart by comparing.
size_t HashOf(const StepModelKey& key) {
  return absl::Hash<std::tuple<const void*, const void*, const void*, int, int, int>>()(
      {key.model, key.hardware, key.efficiencies, key.tensor_parallel, static_cast<int>(key.weight_dtype),
       static_cast<int>(key.kv_cache_dtype)});
}

}  // namespace

StepModelKey StepModelKey::Of(const Scenario& scenario, const Efficiencies& efficiencies) {
  const Deployment& d = scenario.deployment;
  return {.model = scenario.model,
          .hardware = scenario.hardware,
          .efficiencies = &efficiencies,
          .tensor_parallel = d.tensor_parallel,
          .pipeline_parallel = d.pipeline_parallel,
          .expert_parallel = d.expert_parallel,
          .data_parallel = d.data_parallel,
          .expert_load_imbalance = d.expert_load_imbalance,
          .expert_exchange = d.expert_exchange,
          .weight_dtype = d.weight_dtype,
          .activation_dtype = d.activation_dtype,
          .kv_cache_dtype = d.kv_cache_dtype,
          .devices_per_node = d.devices_per_node,
          .scale_out = d.scale_out,
          .attention_kernel = d.attention_kernel,
          .unfused_elementwise = d.unfused_elementwise,
          .roofline_exponent = d.roofline_exponent,
          .expert_routing = scenario.workload.expert_routing};
}

StepModelCache::~StepModelCache() {
  for (const std::atomic<const Entry*>& slot : slots_) delete slot.load(std::memory_order_relaxed);
}

const DerivedModel* StepModelCache::FindOrDerive(const StepModelKey& key, const Scenario& scenario,
                                                 const Efficiencies& efficiencies) const {
  const size_t hash = HashOf(key);
  std::unique_ptr<const Entry> made;
  for (size_t probe = 0; probe < kProbes; ++probe) {
    std::atomic<const Entry*>& slot = slots_[(hash + probe) % kSlots];
    const Entry* entry = slot.load(std::memory_order_acquire);
    if (entry == nullptr) {
      if (made == nullptr) made.reset(new Entry{key, Derive(scenario, efficiencies)});
      // Another thread may have been first: then `entry` is what it put there.
      if (slot.compare_exchange_strong(entry, made.get(), std::memory_order_acq_rel)) return &made.release()->derived;
    }
    if (entry->key == key) return &entry->derived;
  }
  return nullptr;
}

const DerivedModel& StepModelMemo::Get(const Scenario& scenario, const Efficiencies& efficiencies) {
  const ExpertRouting routing = scenario.workload.expert_routing;
  if (efficiencies_ == &efficiencies && routing_ == routing) return *kept_;
  efficiencies_ = &efficiencies;
  routing_ = routing;
  kept_ = cache_ == nullptr ? nullptr
                            : cache_->FindOrDerive(StepModelKey::Of(scenario, efficiencies), scenario, efficiencies);
  if (kept_ == nullptr) kept_ = &own_.emplace(Derive(scenario, efficiencies));
  return *kept_;
}

void StepModelMemo::Forget(const StepModelCache* cache) {
  cache_ = cache;
  efficiencies_ = nullptr;
}

}  // namespace foretoken
