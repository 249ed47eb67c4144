// Memory arithmetic: how many bytes the KV cache of a token takes, how many tokens fit beside the weights, how much of
// the bandwidth a step uses, and the batch at which decode turns compute-bound.
//
// Example (13 billion parameters in fp16 on 40 GB: L = 40, d = 5120):
//
//   Bytes per_token = ...;                                              // 819,200
//   TokensThatFit(Gigabytes(40), Gigabytes(26), per_token);             // 17,089
//   SequencesThatFit(17089, 2048);                                      // 8
//
// Leaves out: activations, allocator blocks and the engine's reserve; the operator model counts those.
// Sources: [S3], [S4] in docs/model/notation.md. Pure functions, safe from any thread.
#ifndef FORETOKEN_ESTIMATOR_SCENARIO_MEMORY_H_
#define FORETOKEN_ESTIMATOR_SCENARIO_MEMORY_H_

#include <optional>

#include "estimator/base/dtype.h"
#include "estimator/base/units.h"
#include "estimator/scenario/model.h"

namespace foretoken {

// Elements of KV cache that one token adds over all layers: 2 K_kv D in a layer; with latent attention one latent and
// one rotary key, r + rope, whatever the number of heads. Recurrent layers and layers that attend to keys of another
// add none. A compressed layer adds its share of an entry.
double KvElementsPerToken(const Model& model);

// Bytes of KV cache of one token over all layers: elements * k, and the keys of indexers. A sliding window limits how
// many tokens a layer keeps, not the bytes of one.  [S4]
Bytes KvBytesPerToken(const Model& model, Dtype kv_cache_dtype);

// Bytes that a sequence takes whatever its context: the state of recurrent layers, and what their convolutions remember
// in 16 bits; with compressed attention the tokens of the window. 0: the model has neither.
//
// Example: Qwen3-Next has 36 recurrent layers of 32 x 128 x 128 elements in fp32 and 3 x 8,192 in bf16: 77,266,944
// bytes.
Bytes StateBytesPerSequence(const Model& model, Dtype kv_cache_dtype);

// Whole tokens whose KV cache fits beside the weights; 0 where the weights alone do not fit.
// REQUIRES: per_token > 0.  [S4]
double TokensThatFit(Bytes memory, Bytes weights, Bytes per_token);

// Whole sequences of `tokens_per_sequence` among `tokens`. REQUIRES: tokens_per_sequence > 0.  [S4]
double SequencesThatFit(double tokens, double tokens_per_sequence);

// Batch at which reading the weights takes as long as multiplying by them: B* = P w / (2 BW), whatever the model's
// size. fp16 on an A100 with 1,555 GB/s: 201.  [S4]
double ComputeBoundBatch(FlopsPerSecond peak, BytesPerSecond bandwidth, Bytes per_weight);

// One decode step of `parameters` weights at context `context`, for one device or a whole deployment alike.
struct DecodeBalance {
  double parameters = 0;  // N, of a dense model
  Bytes per_weight;       // w
  double context = 0;     // c, tokens of each sequence
  Bytes kv_per_token;     // kv
  FlopsPerSecond peak;    // P
  BytesPerSecond bandwidth;
};

// The same with the KV cache, which grows with the batch: B* = (N w / BW) / (2 N / P - c kv / BW). Nothing where the
// KV of a sequence takes longer to read than its token to compute: decode then stays memory-bound at any batch.
// 13B in fp16 on that A100: nothing above c = 158.  [S4, with the KV term ours]
std::optional<double> ComputeBoundBatch(const DecodeBalance& step);

// MBU: ((weights + KV) / TPOT) / BW, achieved over peak. 14 GB in 14 ms of 2 TB/s: 0.5.  [S3]
// REQUIRES: tpot > 0.
inline double ModelBandwidthUtilization(Bytes weights, Bytes kv_cache, Seconds tpot, BytesPerSecond bandwidth) {
  return (weights + kv_cache) / tpot / bandwidth;
}

// Bytes of the score matrix of one layer and sequence when attention is not fused: n^2 H a.
// 16,384 tokens, 40 heads, fp16: 21.47 GB.  [S4]
Bytes NaiveAttentionScores(double tokens, double heads, Bytes per_activation);

}  // namespace foretoken

#endif  // FORETOKEN_ESTIMATOR_SCENARIO_MEMORY_H_
