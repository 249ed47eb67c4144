// The attention and the recurrence of one device: their products, what they see and what they keep.
#ifndef FORETOKEN_ESTIMATOR_STEP_MIXER_SHARD_H_
#define FORETOKEN_ESTIMATOR_STEP_MIXER_SHARD_H_

#include "estimator/scenario/model.h"
#include "estimator/step/shard.h"

namespace foretoken {

// Adds heads, products, attention groups and the indexer. REQUIRES: degrees, widths and bytes of the shard are set.
void AddAttention(const Model& model, Shard& shard);

// Adds the products and the state of recurrent layers, if there are any. REQUIRES: the same.
void AddRecurrence(const Model& model, Shard& shard);

}  // namespace foretoken

#endif  // FORETOKEN_ESTIMATOR_STEP_MIXER_SHARD_H_
