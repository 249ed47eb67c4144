// The cost of recurrent layers beside their products: gated delta nets, Kimi delta attention and Mamba 2 in one form. A
// layer keeps a matrix of key_dim x value_dim per value head and sequence, whatever the context.
//
//   decode:   each token decays the state, reads what it holds under the key, adds an outer product and reads it under
//             the query. The state passes memory twice, once more for each further token of a step.
//   prefill:  kernels cut the tokens in chunks, multiply within a chunk, and carry the state from chunk to chunk.
//
// Sources: Yang, Kautz and Hatamizadeh 2024, "Gated Delta Networks", and the kernels of flash-linear-attention
// (chunks); Dao and Gu 2024, "Transformers are SSMs" (Mamba 2). Formulas and measurements: docs/model/step.md,
// "Recurrence".
#ifndef FORETOKEN_ESTIMATOR_STEP_RECURRENCE_H_
#define FORETOKEN_ESTIMATOR_STEP_RECURRENCE_H_

#include "estimator/base/units.h"
#include "estimator/step/shard.h"

namespace foretoken {

// FLOPs of one token in one layer, of all heads, token by token: 7 key_dim value_dim of a head with the delta rule
// (decay 1, read 2, outer product 2, read 2), 5 without.
inline double RecurrentFlops(const RecurrenceShard& r) {
  return r.heads * r.key_dim * r.value_dim * (r.delta_rule ? 7 : 5);
}

// The same in chunks of C tokens: within a chunk C times keys by keys, keys and values by their triangular inverse,
// queries by keys and scores by values; between chunks products with the state. The triangular inverse itself is not
// counted. Mamba 2 multiplies queries by keys once per group of heads.
inline double ChunkFlops(const RecurrenceShard& r) {
  const double state = r.key_dim * r.value_dim;
  if (!r.delta_rule) {
    return r.key_heads * 2 * r.chunk * r.key_dim + r.heads * (2 * r.chunk * r.value_dim + 4 * state);
  }
  return r.heads * (2 * r.chunk * (3 * r.key_dim + 2 * r.value_dim) + 6 * state);
}

// Elements that pass memory for one token of one layer in a chain of such kernels. With the delta rule they are those
// of scores (writes keys x keys), inverse, w and u, states, and outputs: keys 4 times, queries once, w twice, values
// once, u twice, corrected values twice, outputs once, four passes of C scores, and the state of each chunk twice.
inline double ChunkElements(const RecurrenceShard& r) {
  const double states = 2 * r.key_dim * r.value_dim / r.chunk;
  if (!r.delta_rule) return r.key_heads * 4 * r.key_dim + r.heads * (4 * r.value_dim + states);
  return r.heads * (7 * r.key_dim + 6 * r.value_dim + 4 * r.chunk + states);
}

// Elements that no kernel avoids: queries, keys and values in, outputs out.
inline double LeastElements(const RecurrenceShard& r) { return r.convolution_width + r.gated_width; }

}  // namespace foretoken

#endif  // FORETOKEN_ESTIMATOR_STEP_RECURRENCE_H_
