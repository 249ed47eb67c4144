#include "estimator/step/step.h"

#include <array>

#include "estimator/step/roofline.h"
#include "estimator/step/visit_operators.h"

namespace foretoken {
namespace {

// The times of a step's operators side by side, so that the compiler computes several rooflines at once. Any number of
// operators may be added: each one past kRoom is summed by itself, slower but right.
class OperatorTimes {
 public:
  explicit OperatorTimes(double exponent) : exponent_(exponent) {}

  void Add(const OperatorCost& cost) {
    communication_ += cost.communication;
    if (!(cost.compute.value() > 0)) {
      beside_.memory += cost.memory;
    } else if (count_ < kRoom) {
      compute_[count_] = cost.compute.value();
      memory_[count_++] = cost.memory.value();
    } else {
      AddAlone(cost);
    }
  }

  TimeParts Sum(double exponent) {
    for (size_t i = 0; i < count_; ++i) {
      const Overlap roofline = SmoothMax(Seconds(compute_[i]), Seconds(memory_[i]), exponent);
      compute_[i] *= roofline.first;
      memory_[i] *= roofline.second;
    }
    TimeParts parts{.compute = beside_.compute, .memory = beside_.memory, .communication = communication_};
    for (size_t i = 0; i < count_; ++i) {
      parts.compute += Seconds(compute_[i]);
      parts.memory += Seconds(memory_[i]);
    }
    return parts;
  }

 private:
  static constexpr size_t kRoom = 24;  // no bundled model's step has more operators with a roofline

  [[gnu::noinline]] void AddAlone(const OperatorCost& cost) {
    const TimeParts parts = cost.Parts(exponent_);
    beside_.compute += parts.compute;
    beside_.memory += parts.memory;
  }

  double exponent_;
  size_t count_ = 0;
  Seconds communication_;
  TimeParts beside_;                   // of operators without a roofline, and of those past kRoom
  std::array<double, kRoom> compute_;  // the first count_
  std::array<double, kRoom> memory_;
};

}  // namespace

TimeParts OperatorCost::Parts(double s) const {
  const Overlap roofline = SmoothMax(compute, memory, s);
  return {.compute = compute * roofline.first, .memory = memory * roofline.second, .communication = communication};
}

OperatorCost DecodeAttention(const StepModel& model, const AttentionGroup& group, double sequences, double context,
                             double tokens) {
  return DecodeAttentionCost(model, group, sequences, context, tokens);
}

OperatorCosts StepOperators(const StepModel& model, const StepShape& shape) {
  OperatorCosts costs;
  VisitOperators(model, shape, [&costs](const OperatorCost& cost) { costs.push_back(cost); });
  return costs;
}

Flops StepFlops(const StepModel& model, const StepShape& shape) {
  Flops flops;
  VisitOperators(model, shape, [&flops](const OperatorCost& cost) { flops += cost.flops; });
  return flops;
}

Bytes StepWeights(const StepModel& model, const StepShape& shape) {
  Bytes weights;
  VisitOperators(model, shape, [&weights](const OperatorCost& cost) { weights += cost.weights; });
  return weights;
}

TimeParts DeviceTime(const StepModel& model, const StepShape& shape) {
  OperatorTimes times(model.roofline_exponent);
  VisitOperators(model, shape, [&times](const OperatorCost& cost) { times.Add(cost); });
  // With the default exponent as a constant, the roofline has no branches.
  TimeParts parts = model.roofline_exponent == 2 ? times.Sum(2) : times.Sum(model.roofline_exponent);
  parts.host += model.shard.layers * model.efficiencies.layer_gap;
  return parts;
}

Seconds HostTime(const StepModel& model, const StepShape& shape) {
  const Efficiencies& e = model.efficiencies;
  return e.host_step + model.shard.layers * e.host_layer + shape.Tokens() * e.host_token +
         shape.logits_rows * e.host_request;
}

TimeParts StepTime(const StepModel& model, const StepShape& shape) {
  return JoinHost(DeviceTime(model, shape), HostTime(model, shape), model.roofline_exponent);
}

}  // namespace foretoken
