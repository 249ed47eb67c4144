// One step of the engine: what every operator costs for a given shape, and how long the step takes. Prefill, decode
// and mixed steps are the same code with other shapes.
//
//   StepModel model = ...;
//   TimeParts step = StepTime(model, {.decode_sequences = 8, .decode_context = 1024, .logits_rows = 8});
//
// Formulas, sources and worked numbers: docs/model/step.md.
#ifndef FORETOKEN_ESTIMATOR_STEP_STEP_H_
#define FORETOKEN_ESTIMATOR_STEP_STEP_H_

#include "absl/container/inlined_vector.h"
#include "estimator/scenario/efficiencies.h"
#include "estimator/scenario/estimate.h"
#include "estimator/scenario/scenario.h"
#include "estimator/step/machine.h"
#include "estimator/step/operators.h"
#include "estimator/step/shard.h"

namespace foretoken {

// Everything about a step that its shape does not change.
struct StepModel {
  Shard shard;
  Machine machine;
  StepOperatorSet operators;
  Efficiencies efficiencies;
  double roofline_exponent = 2;
  AttentionKernel attention_kernel = AttentionKernel::kFlash;
  ExpertRouting expert_routing = ExpertRouting::kIndependent;
};

// What one replica computes in a step. Counts may be fractions, where they are means.
struct StepShape {
  double decode_sequences = 0;
  double decode_context = 0;  // tokens that each sees, those just fed included
  double decode_tokens = 1;   // tokens that each is fed; more than one to verify drafted ones
  double prefill_sequences = 0;
  double prefill_tokens = 0;  // new tokens of each
  double prefill_prior = 0;   // tokens of each that are cached already
  double logits_rows = 0;     // rows that need the LM head

  double Tokens() const { return decode_sequences * decode_tokens + prefill_sequences * prefill_tokens; }
};

// One kind of operator in one step, all its runs over the layers together, on one device.
struct OperatorCost {
  OperatorKind kind;
  double count = 0;  // runs
  Flops flops;
  Bytes bytes;
  Bytes sent;             // per device, communication only
  Seconds compute;        // flops at the reached rate
  Seconds memory;         // bytes at the reached rate
  Seconds communication;  // of communication operators
  Bytes weights;          // of the bytes: matrices
  double rows = 0;        // M of a matrix product
  double n = 0, k = 0;    // its N and K

  // Roofline of compute and memory with exponent s, plus communication.
  TimeParts Parts(double s) const;
};

// Operators of a step that are summed side by side; no bundled model's step has more with a roofline.
inline constexpr size_t kUsualOperators = 24;
using OperatorCosts = absl::InlinedVector<OperatorCost, kUsualOperators>;

// Every operator of a step, in the order of execution.
OperatorCosts StepOperators(const StepModel& model, const StepShape& shape);

// Attention of decoding sequences alone, over the layers of one group.
OperatorCost DecodeAttention(const StepModel& model, const AttentionGroup& group, double sequences, double context,
                             double tokens = 1);

// Scores of the indexer for decoding sequences alone.
OperatorCost DecodeIndexer(const StepModel& model, double sequences, double context, double tokens = 1);

// What one step does on one device: FLOPs, and bytes of the matrices that it reads.
Flops StepFlops(const StepModel& model, const StepShape& shape);
Bytes StepWeights(const StepModel& model, const StepShape& shape);

// The device's time of a step: its operators, and the kernel gap of every layer as host time.
TimeParts DeviceTime(const StepModel& model, const StepShape& shape);

// CPU launch overhead of a step: of the step itself, its layers, tokens and logits rows. It overlaps with the device.
Seconds HostTime(const StepModel& model, const StepShape& shape);

// Of that, the time of each layer.
Seconds HostOfLayer(const Efficiencies& efficiencies, const StepShape& shape);

// The whole step: device and host time, overlapped.
TimeParts StepTime(const StepModel& model, const StepShape& shape);

}  // namespace foretoken

#endif  // FORETOKEN_ESTIMATOR_STEP_STEP_H_
