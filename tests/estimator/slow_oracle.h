// The operator model a second time, for tests: slow and obvious where the core model is fast. It is written from the
// formulas in plain doubles, token by token, layer by layer, chunk by chunk and step by step. It takes nothing of the
// core model but inputs and constants.
#ifndef FORETOKEN_TESTS_ESTIMATOR_SLOW_ORACLE_H_
#define FORETOKEN_TESTS_ESTIMATOR_SLOW_ORACLE_H_

#include "estimator/scenario/efficiencies.h"
#include "estimator/scenario/scenario.h"

namespace foretoken {

// Seconds by what they are spent on, and what is done in them.
struct Spent {
  double compute = 0, memory = 0, communication = 0, host = 0, queueing = 0;
  double flops = 0;    // of all operators
  double weights = 0;  // bytes of the matrices
  double kv = 0;       // bytes of the KV cache that decoding reads

  double Total() const { return compute + memory + communication + host + queueing; }
  Spent& operator+=(const Spent& other);
  friend Spent operator+(Spent a, const Spent& b) { return a += b; }
  friend Spent operator*(double times, const Spent& a);
};

// The larger of two resources, smoothed: what it takes, and each one's share of that.
struct Smoothed {
  double time = 0;
  double first = 0;  // seconds of `time`
  double second = 0;
};

class SlowOracle {
 public:
  // Of one replica. REQUIRES: a supported model; hardware that states every figure; resolved dtypes.
  SlowOracle(const Scenario& scenario, const Efficiencies& efficiencies);

  // What one step of the engine computes: `decoding` sequences at context c, fed one token each, and `prefilling`
  // ones, each fed n tokens after p.
  struct Shape {
    double decoding = 0, context = 0;
    double prefilling = 0, n = 0, p = 0;
    double logits = 0;  // rows that need the LM head
  };
  Spent Step(const Shape& shape) const;

  // Of the whole batch.
  Spent Prefill() const { return Prefill(batch_); }
  Spent Prefill(double sequences) const;
  // Seconds that are left of it when the last token of a prompt that comes at its rate is there.
  double ExposedPrefill() const;
  Spent DecodeStep(double j) const { return DecodeStep(batch_, j); }
  Spent DecodeStep(double sequences, double j) const;
  Spent Decode() const { return Decode(batch_); }
  Spent Decode(double sequences) const;

  // Joules of one device in time spent so.
  double Joules(const Spent& spent) const;
  // Shares of the peaks, the decode steps and the prefill as given.
  double Mbu(double sequences, double decode_seconds) const;
  double Mfu(double sequences, double prefill_seconds) const;
  // Bytes of KV cache that a device keeps of a sequence at its end, in blocks of 16 tokens.
  double KvKept() const;

  double batch() const { return batch_; }

 private:
  Smoothed Smax(double a, double b) const;
  Spent Roofline(double compute, double memory) const;
  // `rows` rows by a matrix of n x k elements, those of the matrix and of a row of `bytes` and `input`.
  Spent Product(double rows, double n, double k, double bytes, double input, double rate, double half_rows) const;
  Spent Gemm(double rows, double n, double k, double bytes) const;
  Spent Layer(int layer, const Shape& shape) const;
  Spent Attention(const Shape& shape, bool windowed) const;
  Spent PrefillAttention(const Shape& shape, bool windowed) const;
  Spent DecodeAttention(const Shape& shape, bool windowed) const;
  Spent Mlp(int layer, double tokens, const Shape& shape) const;
  Spent Experts(double tokens, const Shape& shape) const;
  double Elementwise(int layer, double tokens) const;
  double Communication(double tokens) const;
  Spent Head(double rows) const;
  double AllReduce(double bytes) const;
  double Exchange(double tokens) const;
  struct Chunks {
    Spent all;
    double longest = 0;
  };
  Chunks ChunkedPrefill(double sequences) const;
  Spent Around(double sequences) const;

  // Of models whose layers differ in more than their window (slow_oracle_mixed.cc).
  struct Mixer;
  struct Sight;
  Mixer MixerOf(int layer) const;
  Spent MixedLayers(const Shape& shape) const;
  Spent MixedLayer(const Mixer& mixer, const Shape& shape) const;
  Spent HeadMixer(const Mixer& mixer, const Shape& shape) const;
  Spent LatentMixer(const Mixer& mixer, const Shape& shape) const;
  Spent CompressedMixer(const Mixer& mixer, const Shape& shape) const;
  Spent Recurrence(const Shape& shape) const;
  Spent Attend(const Sight& sight, const Shape& shape) const;
  Spent Index(double compression, const Shape& shape) const;
  Spent MixedMlp(const Mixer& mixer, const Shape& shape) const;
  double MixedElementwise(const Mixer& mixer, double tokens) const;
  double MixedKvKept() const;
  double StateBytes() const;
  double KvElements(const Mixer& mixer) const;
  double AllReduces() const;

  bool IsMoe(int layer) const;
  bool IsWindowed(int layer) const;
  double Seen(double context, bool windowed) const;

  const Scenario& scenario_;
  const Model& model_;
  const Deployment& d_;
  const Workload& w_;
  const Efficiencies& e_;
  double s_;
  double tp_, pp_, batch_;
  double weight_, activation_, residual_, kv_, head_;  // bytes per element
  double heads_, kv_heads_;                            // of one device
  double peak_, gemm_, head_gemm_, attention_, vector_, bandwidth_;
  double link_, scale_out_, node_;
  double index_, recurrence_;
  bool mixed_;
};

// The dense peak of the wider of two formats, and bytes of an element of what it computes in: what a device does not
// state is computed in the next wider format.
struct OraclePeak {
  double rate, element;
};
OraclePeak PeakOf(const Hardware& hardware, Dtype weight, Dtype activation);

// Number of positions that `n` new tokens after p see, counted token by token.
double CountPairs(double n, double p, double window, bool chunked);

}  // namespace foretoken

#endif  // FORETOKEN_TESTS_ESTIMATOR_SLOW_ORACLE_H_
