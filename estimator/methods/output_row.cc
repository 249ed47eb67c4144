#include "estimator/methods/output_row.h"

#include <algorithm>
#include <vector>

#include "estimator/base/wide_vectors.h"
#include "estimator/methods/linear_profile.h"
#include "estimator/methods/metrics.h"
#include "estimator/phases/memory_use.h"
#include "estimator/scenario/memory.h"
#include "estimator/serving/batch.h"
#include "estimator/serving/coverage.h"

namespace foretoken {
namespace {

// One batch of whole sequences that decode with a KV cache, by the operator model, whatever the output.
bool IsCovered(const Scenario& scenario) {
  const LinearProfile* profile = scenario.method == Method::kBestAvailable ? FindProfile(scenario) : nullptr;
  const bool by_operators = scenario.method == Method::kOperatorModel || scenario.method == Method::kSpeedOfLight ||
                            (scenario.method == Method::kBestAvailable && (profile == nullptr || profile->superseded));
  return by_operators && scenario.model->unsupported_reason.empty() && scenario.workload.output_tokens > 1 &&
         PolicyOf(scenario) == Scope::kStatic && Covers(scenario, Scope::kOutputRow);
}

// Inputs that the times of all points share.
struct RowTimes {
  double prefill, batch, devices;
};

FORETOKEN_WIDE_VECTORS void FillTimes(RowTimes row, OutputBlock& b) {
  for (int i = 0; i < b.count; ++i) {
    const double decode = b.decode.Get(i).Total().value();
    const double e2e = row.prefill + decode;
    const double requests = row.batch / e2e;
    const double tokens = requests * b.output_tokens[i];
    b.tpot[i] = decode / b.decode_steps[i];
    b.e2e[i] = e2e;
    b.requests_per_second[i] = requests;
    b.output_tokens_per_second[i] = tokens;
    b.output_tokens_per_second_per_device[i] = tokens / row.devices;
  }
}

// KvPerSequence of every point.
FORETOKEN_WIDE_VECTORS void FillKv(const Shard& shard, double prompt, OutputBlock& b) {
  std::fill_n(b.kv_per_sequence.begin(), b.count, 0.0);
  for (const AttentionGroup& group : shard.attention) {
    for (int i = 0; i < b.count; ++i) {
      b.kv_per_sequence[i] += group.layers * group.kv_share * KeptTokens(group, prompt + b.output_tokens[i]);
    }
  }
  const double state = shard.state_per_sequence.value();
  for (int i = 0; i < b.count; ++i) b.kv_per_sequence[i] = KvOfTokens(shard, b.kv_per_sequence[i]).value() + state;
}

// Adds the KV cache of a layer group that the mean decode step of every point reads.
FORETOKEN_WIDE_VECTORS void AddKvRead(const StepModel& model, const AttentionGroup& group, double read, double prompt,
                                      const OutputBlock& b, double* __restrict out) {
  for (int i = 0; i < b.count; ++i) {
    const double seen = read * MeanSeen(group, DecodeSteps(prompt, b.output_tokens[i]));
    out[i] += KvReadOf(model, group, seen).value();
  }
}

}  // namespace

void OutputRow::Make(const Scenario& scenario, StepModelMemo& memo, std::optional<OutputRow>& row) {
  row.reset();
  if (!IsCovered(scenario) || FindsPercentiles(scenario)) return;
  const OperatorMethod method = OperatorMethodOf(scenario);
  const DerivedModel& derived = memo.Get(scenario, *method.efficiencies);
  if (!derived.model.ok()) return;
  row.emplace(scenario, *derived.model, method);
  if (!row->capacity_.Fits()) return row.reset();
  row->served_ = ServedAlone(row->View(), row->capacity_.batch);
  row->weights_read_ = WeightsRead(*row->model_, row->served_.running);
  OutputBlock own;
  const double output = scenario.workload.output_tokens;
  row->Compute(&output, 1, own);
  row->FillPoint(own, 0, row->shared_);
  WarnOfEngines(scenario, *method.efficiencies, row->shared_.warnings);
}

OutputRow::OutputRow(const Scenario& scenario, const StepModel& model, const OperatorMethod& method)
    : scenario_(scenario),
      model_(&model),
      method_(method),
      capacity_(MeasureCapacity(scenario_, model.shard, model.machine)),
      decode_(model, scenario_.workload, capacity_.batch) {
  shared_.method = method.efficiencies->speed_of_light ? Method::kSpeedOfLight : Method::kOperatorModel;
}

// The rule of LargestBatch for the batch that the row has.
inline bool OutputRow::Fits(Bytes kv_per_sequence) const {
  BatchBytes bytes = capacity_.activations;
  bytes.per_sequence += kv_per_sequence;
  return bytes(capacity_.batch) <= capacity_.usable - capacity_.weights;
}

double OutputRow::LargestBatchWith(Bytes kv_per_sequence) const {
  BatchBytes bytes = capacity_.activations;
  bytes.per_sequence += kv_per_sequence;
  return LargestBatch(bytes, capacity_.usable - capacity_.weights);
}

int OutputRow::Compute(const double* output_tokens, int count, OutputBlock& b) const {
  b.count = std::min(count, OutputBlock::kMost);
  for (int i = 0; i < b.count; ++i) {
    b.output_tokens[i] = output_tokens[i];
    b.decode_steps[i] = output_tokens[i] - 1;
  }
  FillKv(model_->shard, scenario_.workload.prompt_tokens, b);
  while (b.count > 0 && !Fits(Bytes(b.kv_per_sequence[b.count - 1]))) --b.count;  // the longest take most
  decode_.Sums(b.decode_steps.data(), b.count, b.decode);
  FillTimes({.prefill = served_.prefill.Total().value(),
             .batch = static_cast<double>(scenario_.workload.batch_size),
             .devices = static_cast<double>(scenario_.deployment.devices())},
            b);
  return b.count;
}

void OutputRow::KvCacheBytes(const OutputBlock& block, double* out) const {
  for (int i = 0; i < block.count; ++i) out[i] = served_.held * block.kv_per_sequence[i];
}

void OutputRow::FreeBytes(const OutputBlock& block, double* out) const {
  const Bytes beside = RoomForKv(capacity_, capacity_.activations(served_.held));
  for (int i = 0; i < block.count; ++i) {
    out[i] = std::max(Bytes(0), beside - served_.held * Bytes(block.kv_per_sequence[i])).value();
  }
}

void OutputRow::LargestBatches(const OutputBlock& block, double* out) const {
  const double replicas = scenario_.deployment.data_parallel;
  for (int i = 0; i < block.count; ++i) out[i] = LargestBatchWith(Bytes(block.kv_per_sequence[i])) * replicas;
}

void OutputRow::Mbu(const OutputBlock& block, double* out) const {
  std::fill_n(out, block.count, 0.0);
  for (const AttentionGroup& group : model_->shard.attention) {
    AddKvRead(*model_, group, served_.read, scenario_.workload.prompt_tokens, block, out);
  }
  if (model_->shard.indexer) {
    AddKvRead(*model_, IndexKeys(model_->shard), served_.read, scenario_.workload.prompt_tokens, block, out);
  }
  const double states = StateRead(*model_, served_.read).value();
  for (int i = 0; i < block.count; ++i) {
    out[i] += states;
    out[i] =
        ModelBandwidthUtilization(weights_read_, Bytes(out[i]), Seconds(block.tpot[i]), model_->machine.memory_peak);
  }
}

void OutputRow::FillPoint(const OutputBlock& block, int point, Estimate& estimate) {
  scenario_.workload.output_tokens = static_cast<int>(block.output_tokens[point]);
  capacity_.kv_per_sequence = Bytes(block.kv_per_sequence[point]);
  capacity_.largest_batch = LargestBatchWith(capacity_.kv_per_sequence);
  served_.decode = block.decode.Get(point);
  served_.decode_steps = block.decode_steps[point];
  served_.requests_per_second = block.requests_per_second[point];
  FillMetrics(View(), served_, method_.provenance, estimate);
  FillVerdicts(scenario_, method_.calibration, estimate);
}

}  // namespace foretoken
