#include "estimator/step/prior_curve.h"

#include <cstddef>

#include "estimator/step/roofline.h"
#include "estimator/step/visit_operators.h"

namespace foretoken {
namespace {

bool Varies(const OperatorCost& cost) {
  return cost.kind == OperatorKind::kPrefillAttention || cost.kind == OperatorKind::kPrefillIndexer ||
         cost.kind == OperatorKind::kLatentExpand;
}

StepShape After(StepShape shape, double prior) {
  shape.prefill_prior = prior;
  return shape;
}

}  // namespace

PriorCurve::PriorCurve(const StepModel& model, const StepShape& shape)
    : model_(model),
      shape_(After(shape, 1)),  // so that latents are expanded
      gaps_(model.shard.layers * model.efficiencies.layer_gap),
      host_(HostTime(model, shape)) {
  const AttentionGroup* next_group = model.shard.attention.data();
  VisitOperators(model_, shape_, [&](const OperatorCost& cost) { Add(cost, next_group); });
  size_t same = 0;  // terms before the first that varies
  for (; same < terms_.size() && !terms_[same].varies; ++same) {
    before_.compute += terms_[same].compute;
    before_.memory += terms_[same].memory;
  }
  terms_.erase(terms_.begin(), terms_.begin() + static_cast<std::ptrdiff_t>(same));
}

// As DeviceTime sums them: what has no roofline first, then the others one by one.
void PriorCurve::Add(const OperatorCost& cost, const AttentionGroup*& next_group) {
  before_.communication += cost.communication;
  if (Varies(cost)) {
    ++operators_;
    const bool attention = cost.kind == OperatorKind::kPrefillAttention;
    terms_.push_back({.varies = true, .kind = cost.kind, .group = attention ? next_group++ : nullptr});
    return;
  }
  if (!(cost.compute.value() > 0)) {
    before_.memory += cost.memory;
    return;
  }
  ++operators_;
  const Overlap roofline = SmoothMax(cost.compute, cost.memory, model_.roofline_exponent);
  terms_.push_back({.compute = cost.compute * roofline.first, .memory = cost.memory * roofline.second});
}

OperatorCost PriorCurve::CostOf(const Term& term, const StepShape& shape) const {
  if (term.kind == OperatorKind::kPrefillIndexer) return PrefillIndexerCost(model_, shape);
  return term.group != nullptr ? PrefillAttentionCost(model_, *term.group, shape) : LatentExpansionCost(model_, shape);
}

TimeParts PriorCurve::Step(double prior) const {
  const StepShape shape = After(shape_, prior);
  if (operators_ > kUsualOperators) return StepTime(model_, shape);  // sums them in another order
  TimeParts device = before_;
  for (const Term& term : terms_) {
    if (!term.varies) {
      device.compute += term.compute;
      device.memory += term.memory;
      continue;
    }
    if (term.kind == OperatorKind::kLatentExpand && !(prior > 0)) continue;  // nothing to expand
    const OperatorCost cost = CostOf(term, shape);
    if (!(cost.compute.value() > 0)) return StepTime(model_, shape);  // counts as traffic
    const Overlap roofline = SmoothMax(cost.compute, cost.memory, model_.roofline_exponent);
    device.compute += cost.compute * roofline.first;
    device.memory += cost.memory * roofline.second;
  }
  device.host += gaps_;
  return JoinHost(device, host_, model_.roofline_exponent);
}

}  // namespace foretoken
