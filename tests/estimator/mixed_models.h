// Models whose layers differ in more than their window: recurrence beside or instead of attention, layers without an
// MLP, sparse and compressed attention, shared keys, second embeddings and several residual streams.
#ifndef FORETOKEN_TESTS_ESTIMATOR_MIXED_MODELS_H_
#define FORETOKEN_TESTS_ESTIMATOR_MIXED_MODELS_H_

#include "tests/estimator/random_scenarios.h"

namespace foretoken {

bool IsMixed(const Model& model);

// Made up, of any of these kinds.
Model MixedModel(RandomScenarios& source);

}  // namespace foretoken

#endif  // FORETOKEN_TESTS_ESTIMATOR_MIXED_MODELS_H_
