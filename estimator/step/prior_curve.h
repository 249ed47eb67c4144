// Steps that differ in the context before their prompts alone, as the chunks of a prompt do. Everything but attention
// is computed once, so that a step costs a fraction of StepTime and has the same bits.
//
//   const PriorCurve chunks(model, {.prefill_sequences = 1, .prefill_tokens = 512});
//   chunks.Step(1024);   // the third chunk
#ifndef FORETOKEN_ESTIMATOR_STEP_PRIOR_CURVE_H_
#define FORETOKEN_ESTIMATOR_STEP_PRIOR_CURVE_H_

#include "absl/container/inlined_vector.h"
#include "estimator/step/step.h"

namespace foretoken {

// Thread-safe. The model outlives it.
class PriorCurve {
 public:
  // REQUIRES: shape has tokens to prefill. Its prior context does not count.
  PriorCurve(const StepModel& model, const StepShape& shape);

  // StepTime of the shape after `prior` tokens of each sequence, bit for bit.
  TimeParts Step(double prior) const;

 private:
  // One operator with a roofline: its parts, or where they depend on the prior context, which operator it is.
  struct Term {
    Seconds compute, memory;
    bool varies = false;
    OperatorKind kind = OperatorKind::kLatentExpand;  // where it varies
    const AttentionGroup* group = nullptr;            // of attention
  };

  void Add(const OperatorCost& cost, const AttentionGroup*& next_group);
  OperatorCost CostOf(const Term& term, const StepShape& shape) const;

  const StepModel& model_;
  StepShape shape_;
  TimeParts before_;  // of the operators before the first that varies, and of those without a roofline
  absl::InlinedVector<Term, kUsualOperators> terms_;  // the others, in the order of execution
  Seconds gaps_;                                      // between kernels
  Seconds host_;
  size_t operators_ = 0;  // with a roofline
};

}  // namespace foretoken

#endif  // FORETOKEN_ESTIMATOR_STEP_PRIOR_CURVE_H_
