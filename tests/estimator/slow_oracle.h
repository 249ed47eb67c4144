// The operator model a second time, for tests: written from its formulas in plain doubles, token by token, layer by
// layer, chunk by chunk and step by step, with nothing of the core model but its inputs and its constants. Slow and
// obvious where the core model is fast.
#ifndef FORETOKEN_TESTS_ESTIMATOR_SLOW_ORACLE_H_
#define FORETOKEN_TESTS_ESTIMATOR_SLOW_ORACLE_H_

#include "estimator/efficiencies.h"
#include "estimator/scenario.h"

namespace foretoken {

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
  double Step(const Shape& shape) const;

  // Seconds of the whole batch.
  double Prefill() const;
  // What is left of it when the last token of a prompt that comes at its rate is there.
  double ExposedPrefill() const;
  double DecodeStep(double j) const;
  double Decode() const;

 private:
  double Smax(double a, double b) const;
  double Gemm(double rows, double n, double k, double bytes, double rate) const;
  double Layer(int layer, const Shape& shape) const;
  double Attention(const Shape& shape, bool windowed) const;
  double Mlp(int layer, double tokens, const Shape& shape) const;
  double Experts(double tokens, const Shape& shape) const;
  double Elementwise(int layer, double tokens) const;
  double Communication(double tokens) const;
  double Head(double rows) const;
  double AllReduce(double bytes) const;
  struct Chunks {
    double time = 0;  // of all
    double longest = 0;
  };
  Chunks ChunkedPrefill(double sequences) const;
  double Around() const;

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
  double weight_, activation_, kv_, head_;  // bytes per element
  double heads_, kv_heads_;                 // of one device
  double gemm_, head_gemm_, attention_, vector_, bandwidth_;
  double link_, scale_out_, node_;
};

// Number of positions that `n` new tokens after p see, counted token by token.
double CountPairs(double n, double p, double window, bool chunked);

}  // namespace foretoken

#endif  // FORETOKEN_TESTS_ESTIMATOR_SLOW_ORACLE_H_
