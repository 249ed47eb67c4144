// One static batch at many output lengths, as a sweep asks for it. The prefill, the curve of a decode step and the
// memory beside the KV cache do not depend on the output and are computed once. The rest is computed in columns, with
// the same formulas as one estimate, so that every metric has the same bits.
//
//   std::optional<OutputRow> row;
//   OutputRow::Make(scenario, memo, row);   // at its shortest output
//   OutputBlock block;
//   int rows = row->Compute(outputs, 100, block);   // block.tpot[0], block.tpot[1], ...
//
// Leaves out what does not run as one batch with a KV cache (Scope::kOutputRow of estimator/serving/coverage.h): Make
// then gives nothing, and ComputeEstimate answers point by point.
#ifndef FORETOKEN_ESTIMATOR_METHODS_OUTPUT_ROW_H_
#define FORETOKEN_ESTIMATOR_METHODS_OUTPUT_ROW_H_

#include <optional>

#include "estimator/methods/operator_model.h"
#include "estimator/methods/step_model_cache.h"
#include "estimator/phases/capacity.h"
#include "estimator/phases/decode.h"
#include "estimator/phases/phases.h"
#include "estimator/scenario/estimate.h"
#include "estimator/scenario/scenario.h"
#include "estimator/serving/served.h"

namespace foretoken {

// Consecutive points of a row, with a column for each of the usual metrics.
struct OutputBlock {
  static constexpr int kMost = TimePartsColumns::kMost;
  using Column = TimePartsColumns::Column;

  int count = 0;
  Column output_tokens;
  Column decode_steps;
  TimePartsColumns decode;
  Column tpot;
  Column e2e;
  Column requests_per_second;
  Column output_tokens_per_second;
  Column output_tokens_per_second_per_device;
  Column kv_per_sequence;  // bytes
};

// Not thread-safe. The scenario's model, hardware and calibration outlive it, and so does the memo that it was made
// from, unchanged.
class OutputRow {
 public:
  // Makes `row` from the scenario; empties it if the scenario is not covered, or does not fit in memory.
  static void Make(const Scenario& scenario, StepModelMemo& memo, std::optional<OutputRow>& row);

  // For Make alone. REQUIRES: a covered scenario.
  OutputRow(const Scenario& scenario, const StepModel& model, const OperatorMethod& method);

  // The estimate of the scenario as given, of its warnings those about engines alone. Its fields that do not depend on
  // the output hold for all points.
  const Estimate& shared() const { return shared_; }

  // Computes the first points of `output_tokens`, which rises: up to the first point that does not fit in memory, at
  // most OutputBlock::kMost. Returns their number. REQUIRES: more than one output token, no fewer than the scenario's.
  int Compute(const double* output_tokens, int count, OutputBlock& block) const;

  // One metric of every point of the block.
  void KvCacheBytes(const OutputBlock& block, double* out) const;
  void FreeBytes(const OutputBlock& block, double* out) const;
  void LargestBatches(const OutputBlock& block, double* out) const;
  void Mbu(const OutputBlock& block, double* out) const;

  // The whole estimate of a point of the block, without warnings, into `estimate`, which holds shared() or another
  // point of this row.
  void FillPoint(const OutputBlock& block, int point, Estimate& estimate);

 private:
  bool Fits(Bytes kv_per_sequence) const;
  double LargestBatchWith(Bytes kv_per_sequence) const;
  Replica View() const {
    return {.scenario = scenario_, .model = *model_, .capacity = capacity_, .steps_wanted = false};
  }

  Scenario scenario_;
  const StepModel* model_;
  OperatorMethod method_;
  Capacity capacity_;
  Served served_;  // at the scenario's own output
  DecodePhase decode_;
  Bytes weights_read_;
  Estimate shared_;
};

}  // namespace foretoken

#endif  // FORETOKEN_ESTIMATOR_METHODS_OUTPUT_ROW_H_
