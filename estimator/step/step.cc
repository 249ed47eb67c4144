#include "estimator/step/step.h"

#include <algorithm>
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
      traffic_ += cost.memory;
    } else if (count_ < kRoom) {
      compute_time_[count_] = cost.compute.value();
      memory_time_[count_++] = cost.memory.value();
    } else {
      const Overlap roofline = RooflineAlone(cost.compute, cost.memory, exponent_);
      compute_ += cost.compute * roofline.first;
      traffic_ += cost.memory * roofline.second;
    }
  }

  TimeParts Sum(double exponent) {
    for (size_t i = 0; i < count_; ++i) {
      const Overlap roofline = SmoothMax(Seconds(compute_time_[i]), Seconds(memory_time_[i]), exponent);
      compute_time_[i] *= roofline.first;
      memory_time_[i] *= roofline.second;
    }
    TimeParts parts{.compute = compute_, .memory = traffic_, .communication = communication_};
    for (size_t i = 0; i < count_; ++i) {
      parts.compute += Seconds(compute_time_[i]);
      parts.memory += Seconds(memory_time_[i]);
    }
    return parts;
  }

 private:
  static constexpr size_t kRoom = kUsualOperators;

  // Not inlined and by value, so that Add keeps everything else in registers.
  [[gnu::noinline]] static Overlap RooflineAlone(Seconds compute, Seconds memory, double exponent) {
    return SmoothMax(compute, memory, exponent);
  }

  double exponent_;
  size_t count_ = 0;
  Seconds communication_;
  Seconds compute_;                         // of operators past kRoom
  Seconds traffic_;                         // memory time of operators past kRoom, and of those without a roofline
  std::array<double, kRoom> compute_time_;  // the first count_
  std::array<double, kRoom> memory_time_;
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

OperatorCost DecodeIndexer(const StepModel& model, double sequences, double context, double tokens) {
  return DecodeIndexerCost(model, sequences, context, tokens);
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

Seconds HostOfLayer(const Efficiencies& efficiencies, const StepShape& shape) {
  const bool prompts = shape.prefill_sequences * shape.prefill_tokens > 0;
  return prompts ? std::max(efficiencies.host_layer, efficiencies.host_prompt_layer) : efficiencies.host_layer;
}

Seconds HostTime(const StepModel& model, const StepShape& shape) {
  const Efficiencies& e = model.efficiencies;
  return e.host_step + model.shard.layers * HostOfLayer(e, shape) + shape.Tokens() * e.host_token +
         shape.logits_rows * e.host_request;
}

TimeParts StepTime(const StepModel& model, const StepShape& shape) {
  return JoinHost(DeviceTime(model, shape), HostTime(model, shape), model.roofline_exponent);
}

}  // namespace foretoken
