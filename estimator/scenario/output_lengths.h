// Outputs of different lengths: how long the longest of a batch is.
//
//   OutputLengthDistribution lengths{.mean_tokens = 100, .max_tokens = 200};   // then taken as uniform
//   LongestOutput(lengths, 1);   // 100
//   LongestOutput(lengths, 9);   // 180 = 200 * 9/10
#ifndef FORETOKEN_ESTIMATOR_SCENARIO_OUTPUT_LENGTHS_H_
#define FORETOKEN_ESTIMATOR_SCENARIO_OUTPUT_LENGTHS_H_

#include "estimator/scenario/scenario.h"

namespace foretoken {

// Expected longest of `draws` independent outputs, tokens. By what is stated:
//   quantiles       straight lines between (0, 1 token), the quantiles and the maximum (absent: the last quantile)
//   mean and max M  lengths M u^a, u uniform, a = M/mean - 1: M draws / (draws + a)
//   mean alone      an output ends after each token with one chance: mean * (1 + 1/2 + ... + 1/draws)
// REQUIRES: draws >= 1. [ours]
double LongestOutput(const OutputLengthDistribution& lengths, double draws);

// Output tokens of a request on average.
double MeanOutput(const Workload& workload);

// The output length of a batch: the longest of `sequences` under static and dynamic batching, where a batch ends as a
// whole; the mean under continuous batching.
int BatchLength(const Workload& workload, double sequences);

// The workload with that output length.
Workload WithBatchLength(Workload workload, double sequences);

}  // namespace foretoken

#endif  // FORETOKEN_ESTIMATOR_SCENARIO_OUTPUT_LENGTHS_H_
