#include "estimator/step/kernel.h"

#include <algorithm>
#include <limits>

#include "estimator/step/visit_operators.h"

namespace foretoken {
namespace {

constexpr double kRoofline = 2;  // exponent of every estimate, unless it asks for another

// A model of one layer that has nothing but these experts.
Shard ShardOf(const ExpertsKernel& kernel) {
  Shard shard{.layers = 1, .hidden = kernel.hidden, .norms_per_layer = 0, .mlp_matrices = kernel.matrices};
  shard.elementwise_width = kernel.rows * kernel.width / kernel.tokens;
  shard.activation = BytesPerElement(kernel.activation_dtype);
  shard.residual = std::max(BytesPerElement(Dtype::kBf16), shard.activation);
  shard.experts = ExpertShard{.layers = 1,
                              .num_experts = kernel.experts,
                              .chosen = kernel.chosen,
                              .up_n = (kernel.matrices - 1) * kernel.width,
                              .up_k = kernel.hidden,
                              .down_n = kernel.hidden,
                              .down_k = kernel.width,
                              .bytes_per_weight = BytesPerElement(kernel.weight_dtype),
                              .hidden = kernel.hidden};
  return shard;
}

}  // namespace

absl::StatusOr<Seconds> KernelTime(const ExpertsKernel& kernel, const Hardware& hardware,
                                   const Efficiencies& efficiencies) {
  Placement placement;
  placement.weight_dtype = kernel.weight_dtype;
  placement.activation_dtype = kernel.activation_dtype;
  const absl::StatusOr<Machine> machine = MakeMachine(hardware, placement, kernel.weight_dtype, efficiencies, nullptr);
  if (!machine.ok()) return machine.status();
  StepModel model{.shard = ShardOf(kernel), .machine = *machine, .efficiencies = efficiencies};
  model.roofline_exponent = efficiencies.speed_of_light ? std::numeric_limits<double>::infinity() : kRoofline;
  model.operators = MakeOperators(model.shard, model.machine, efficiencies.gemm_half_rows, false);
  const ExpertUse use{.on_rank = kernel.experts, .rows = kernel.rows / kernel.experts};
  TimeParts parts;
  for (const MatrixOperator* product : {&model.operators.experts->up, &model.operators.experts->down}) {
    parts += MatrixCost(*product, use.rows, use.on_rank).Parts(model.roofline_exponent);
  }
  if (efficiencies.speed_of_light) return parts.Total();
  parts.memory += ExpertRowsCost(model, use, kernel.tokens).memory;
  parts.memory += kernel.tokens * model.operators.elementwise.memory_per_token;
  return parts.Total() + efficiencies.microbenchmark_start;
}

}  // namespace foretoken
