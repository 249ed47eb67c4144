// How the passes of a prefill follow each other through the stages of a pipeline, and how far an engine falls behind
// stages that are all busy.
//
// Source for llama.cpp: its scheduler (ggml-backend.cpp) keeps 4 copies of a graph's inputs, its layer split counts the
// output matrix as a layer, and its one CPU thread enqueues the kernels of one pass after those of the other. A CUDA
// stream takes about 1,000 kernels that have not begun, and then blocks the thread, which no longer feeds the other
// devices. Where a stage's kernels are just a whole fraction of the queue, one kernel more makes a jump.
// Formula, counts and measurements: docs/model/phases.md, "Prefill", and docs/model/decisions.md.
#ifndef FORETOKEN_ESTIMATOR_PHASES_PASS_FLOW_H_
#define FORETOKEN_ESTIMATOR_PHASES_PASS_FLOW_H_

#include <optional>

#include "estimator/scenario/scenario.h"
#include "estimator/step/shard.h"

namespace foretoken {

struct PassFlow {
  std::optional<double> in_flight;  // most passes that the stages work on at once, as stated; 1: one after the other
  bool llama_cpp = false;           // the engine's own limits, where none is stated, and its uneven stages
};

PassFlow PassFlowOf(const Deployment& deployment);

// Time from the start of one pass of `tokens` to that of the next, as a share of the pass: from 1/stages, where all
// stages are always busy, to 1, where passes run one after the other.
double PassInterval(const Shard& shard, const PassFlow& flow, double tokens);

}  // namespace foretoken

#endif  // FORETOKEN_ESTIMATOR_PHASES_PASS_FLOW_H_
