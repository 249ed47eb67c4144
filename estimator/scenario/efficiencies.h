// The constants of the operator model: which share of the hardware's stated specs real kernels reach, and the overheads
// of engines. A calibration replaces the prior's values; the model has no other constant that is fitted.
#ifndef FORETOKEN_ESTIMATOR_SCENARIO_EFFICIENCIES_H_
#define FORETOKEN_ESTIMATOR_SCENARIO_EFFICIENCIES_H_

#include <array>
#include <limits>

#include "estimator/base/dtype.h"
#include "estimator/base/units.h"

namespace foretoken {

// What a matrix product multiplies: the formats of its weights and of the activations that enter it. Kernels of
// different formats are different code, and reach different shares of a device.
enum class MatrixFormat { k16Bit, k8Bit, kFp8Block, kInt4Weights, kNvfp4, kMxfp4Weights, kMxfp4Fp8 };
inline constexpr int kNumMatrixFormats = 7;

// "16bit", "fp8_block", "mxfp4_weights", ...: as the names of parameters end.
const char* MatrixFormatName(MatrixFormat format);

// Weights of 16 bits, or of 8 that are cast before they are multiplied, are k16Bit; llama.cpp's 4-bit blocks are
// kInt4Weights.
MatrixFormat FormatOf(Dtype weight, Dtype activation);

// What the kernels of one layer's routed experts reach in one format: sorting tokens to experts, the products, the
// activation between them, and the sum over experts. Formula: docs/model/step.md, "Experts".
struct ExpertKernels {
  double gemm = 1;       // e_x, of the matrix peak, at many rows an expert
  double half_rows = 0;  // M_x: rows whose time each expert pays on top of its own
  // At which the chosen rows of all tokens on the device are sorted to experts and added up.
  BytesPerSecond row_rate{std::numeric_limits<double>::infinity()};
};

struct Efficiencies {
  // Shares of a peak, above 0 to 1 (decode attention may pass 1 where an engine uses the matrix units).
  double gemm = 1;               // e_c, of the matrix peak, at many rows
  double prefill_attention = 1;  // e_a, of the matrix peak
  double decode_attention = 1;   // e_d, of the fp32 vector peak, damped by vector_reference
  double weight_read = 1;        // e_w, of memory bandwidth; see weight_read_balance
  double recurrence = 1;         // e_r, of the fp32 vector peak: recurrent layers; may pass 1, as decode attention
  double kv_read = 1;            // e_k, of memory bandwidth
  double elementwise = 1;        // of memory bandwidth
  double link = 1;               // e_n, of link bandwidth

  double gemm_half_rows = 0;  // M0: rows whose time a GEMM pays on top of its own
  // beta: largest VectorBalance (machine.h) of the devices that e_w was fitted to; used by TransferredTo. 0: e_w
  // holds on any device.
  double weight_read_balance = 0;
  // r: FLOPs that an element serves each time it comes from memory to the matrix units.
  double gemm_reuse = std::numeric_limits<double>::infinity();
  // P_ref: decode attention scales with the square root of a device's fp32 peak over it; 0: in proportion to the peak.
  FlopsPerSecond vector_reference;

  std::array<ExpertKernels, kNumMatrixFormats> experts;  // by MatrixFormat
  // Time that a microbenchmark takes to start the kernels that it times, one by one. Only KernelTime has it: engines
  // replay recorded graphs.
  Seconds microbenchmark_start;

  Seconds link_latency;  // alpha, of one exchange
  Seconds layer_gap;     // c_gap: idle device time per layer
  Seconds host_step;     // c_step: host time of a step
  Seconds host_layer;    // c_layer: host time of a step per layer
  // c_prompt: likewise of a step with prompts, if it is more. The host starts its kernels one by one, because engines
  // record graphs of decode steps, not of prompts.
  Seconds host_prompt_layer;
  Seconds host_token;             // c_tok: per token of a step
  Seconds host_request;           // c_req: per row of logits of a step
  Seconds admission;              // a0: of a prefill
  Seconds admission_per_request;  // a1: of a prefill, per sequence
  // a2: of a request under continuous batching, per prompt token, where no rate of the tokenizer is stated: what the
  // server does with the text of a prompt before the engine sees it. Static batches are fed tokens.
  Seconds admission_per_token;

  // xi, of a closed loop: the share of the other requests' prefills, without those just before its own, that delays a
  // request's decode steps; the rest delays its first token. 1: requests arrive one by one, 0: all at once.
  double prefill_share = 1;

  // The roofline lower bound: chosen experts only, decode attention on the matrix units, no communication.
  bool speed_of_light = false;
};

// One set for any hardware and engine, from published kernel measurements (sources in efficiencies.cc and
// docs/model/scenario.md). Static batches without a calibration use it (provenance DATASHEET).
const Efficiencies& GenericPrior();

// The same for continuous batching, whose engines are newer and reach more of the hardware.
const Efficiencies& GenericServedPrior();

// Which of the two.
const Efficiencies& GenericPriorOf(bool continuous);

// Every share 1, every overhead 0: nothing real is faster.
const Efficiencies& SpeedOfLight();

}  // namespace foretoken

#endif  // FORETOKEN_ESTIMATOR_SCENARIO_EFFICIENCIES_H_
