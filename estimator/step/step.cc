#include "estimator/step/step.h"

#include <array>
#include <cassert>

#include "estimator/step/roofline.h"
#include "estimator/step/visit_operators.h"

namespace foretoken {
namespace {

// Ten matrices and the head, two of the experts, latent expansion, two attention groups in both phases.
constexpr size_t kMostRooflines = 10 + 1 + 2 + 1 + 2 * 2;

// The times of a step's operators side by side, so that the compiler takes their rooflines several at once.
class OperatorTimes {
 public:
  void Add(const OperatorCost& cost) {
    communication_ += cost.communication;
    if (cost.compute.value() > 0) {
      assert(count_ < kMostRooflines);
      compute_[count_] = cost.compute.value();
      memory_[count_++] = cost.memory.value();
    } else {
      traffic_ += cost.memory;
    }
  }

  TimeParts Sum(double exponent) {
    for (size_t i = 0; i < count_; ++i) {
      const Overlap roofline = SmoothMax(Seconds(compute_[i]), Seconds(memory_[i]), exponent);
      compute_[i] *= roofline.first;
      memory_[i] *= roofline.second;
    }
    TimeParts parts{.memory = traffic_, .communication = communication_};
    for (size_t i = 0; i < count_; ++i) {
      parts.compute += Seconds(compute_[i]);
      parts.memory += Seconds(memory_[i]);
    }
    return parts;
  }

 private:
  size_t count_ = 0;
  Seconds traffic_;
  Seconds communication_;
  std::array<double, kMostRooflines> compute_;  // the first count_
  std::array<double, kMostRooflines> memory_;
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
  OperatorTimes times;
  VisitOperators(model, shape, [&times](const OperatorCost& cost) { times.Add(cost); });
  // The default exponent as a constant: its roofline is then free of branches.
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
