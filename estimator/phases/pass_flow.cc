#include "estimator/phases/pass_flow.h"

#include <algorithm>
#include <cmath>

namespace foretoken {
namespace {

constexpr double kCopies = 4;             // of a graph's inputs: GGML_SCHED_MAX_COPIES
constexpr double kQueuedKernels = 1000;   // of a CUDA stream, before a launch blocks
constexpr double kKernelsOfLayer = 50;    // that llama.cpp launches for a pass of a prompt
constexpr double kKernelsOfExperts = 25;  // beyond these, where the layer has routed experts
constexpr double kVectorTokens = 8;       // up to which a weight is one kernel, not four: MMVQ_MAX_BATCH_SIZE
constexpr double kKernelsOfVectors = 25;  // of a layer, for such a pass

// The layers of the stage that has most. The output matrix is split as one layer more.
double LayersOfLlamaCppStage(const Shard& shard) { return std::ceil((shard.layers + 1) / shard.stages); }

// The first kernel of a pass is launched after the last kernel of the pass before, which waits until the last stage has
// begun the kernel that is one queue ahead of it. Where the queue of a stage holds `queued` passes, `whole` if rounded
// up, and a stage takes 1/stages of a pass:
//   whole * interval = (stages - 1 + whole - queued) / stages
double LaunchInterval(const Shard& shard, double tokens) {
  const double weights = tokens <= kVectorTokens ? kKernelsOfVectors : kKernelsOfLayer;
  const double moe_layers = shard.experts ? shard.experts->layers / shard.layers : 0;
  const double kernels = LayersOfLlamaCppStage(shard) * (weights + kKernelsOfExperts * moe_layers);
  const double queued = kQueuedKernels / kernels;
  const double whole = std::ceil(queued);
  return (shard.stages - 1 + whole - queued) / (whole * shard.stages);
}

}  // namespace

PassFlow PassFlowOf(const Deployment& deployment) {
  PassFlow flow{.llama_cpp = IsLlamaCpp(deployment.engine)};
  if (deployment.prefill_passes_in_flight) flow.in_flight = *deployment.prefill_passes_in_flight;
  return flow;
}

double PassInterval(const Shard& shard, const PassFlow& flow, double tokens) {
  double interval = 1 / shard.stages;
  if (flow.llama_cpp) {
    interval = std::max(interval, std::min(1.0, LayersOfLlamaCppStage(shard) / shard.layers));
    if (!flow.in_flight) interval = std::max({interval, LaunchInterval(shard, tokens), 1 / (kCopies + 1)});
  }
  if (flow.in_flight) interval = std::max(interval, 1 / *flow.in_flight);
  return interval;
}

}  // namespace foretoken
