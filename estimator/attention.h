// How much of the context each token of a layer sees, and how many experts a step touches: the counting that
// attention and mixture-of-experts layers need.
#ifndef FORETOKEN_ESTIMATOR_ATTENTION_H_
#define FORETOKEN_ESTIMATOR_ATTENTION_H_

#include "estimator/shard.h"

namespace foretoken {

// Pairs (query, key) of n new causal tokens after p cached ones: np + n(n+1)/2, or with a window W of the last W
// positions, each query seeing at most W. A chunked layer sees its own chunk only.
double CausalPairs(const AttentionGroup& group, double new_tokens, double prior);

// Cached and new positions whose keys and values n new tokens after p read at least once.
double PositionsRead(const AttentionGroup& group, double new_tokens, double prior);

// Positions that a decoding sequence at `context` sees: min(c, W), or its place in its chunk; none at context 0.
double VisibleContext(const AttentionGroup& group, double context);

// Distinct experts that T tokens touch when each chooses `chosen` of `experts` independently:
// E (1 - (1 - K/E)^T). 0 for no token, E for K = E. Source: expected number of occupied cells.
double DistinctExperts(double experts, double chosen, double tokens);

}  // namespace foretoken

#endif  // FORETOKEN_ESTIMATOR_ATTENTION_H_
