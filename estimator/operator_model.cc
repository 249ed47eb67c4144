#include "estimator/operator_model.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "estimator/capacity.h"
#include "estimator/errors.h"
#include "estimator/explain.h"
#include "estimator/output_lengths.h"
#include "estimator/serving.h"
#include "estimator/usage.h"

namespace foretoken {
namespace {

absl::Status CheckSupported(const Model& model) {
  if (model.unsupported_reason.empty()) return absl::OkStatus();
  return Refusal(Reason::kUnsupportedModel, "model",
                 absl::StrCat("model ", model.id, " is listed but not supported: ", model.unsupported_reason));
}

void WarnOfScenario(const Scenario& scenario, const Shard& shard, std::vector<Warning>& warnings) {
  const Workload& w = scenario.workload;
  const double context = static_cast<double>(w.prompt_tokens) + w.output_tokens;
  const auto longest = scenario.model->max_position_embeddings;
  if (longest && context > *longest) {
    warnings.push_back(
        {WarningCode::kContextTooLong,
         absl::StrCat("context of ", context, " tokens; ", scenario.model->id, " was made for ", *longest),
         "workload.prompt_tokens"});
  }
  if (shard.heads_padded) {
    warnings.push_back({WarningCode::kHeadsPadded,
                        absl::StrCat(scenario.model->num_attention_heads, " heads do not divide by tensor_parallel ",
                                     shard.tensor_parallel, "; padded to ", shard.heads, " per device"),
                        "deployment.tensor_parallel"});
  }
}

Phase MakePhase(const TimeParts& parts, Provenance provenance) {
  return {.time = parts.Total(), .parts = parts, .bound = parts.LargestPart(), .provenance = provenance};
}

Throughput MakeThroughput(const Scenario& scenario, double requests, Seconds tpot) {
  const double tokens = requests * MeanOutput(scenario.workload);
  return {.output_tokens_per_second = tokens,
          .output_tokens_per_second_per_device = tokens / scenario.deployment.devices(),
          .output_tokens_per_second_per_user = 1 / tpot.value(),
          .requests_per_second = requests};
}

void FillTimes(const Scenario& scenario, const StepModel& model, const Served& served, Provenance provenance,
               Estimate& estimate) {
  const Workload& w = scenario.workload;
  estimate.prefill = MakePhase(served.prefill, provenance);
  estimate.decode = MakePhase(served.decode, provenance);
  estimate.decode_steps = served.decode_steps;
  estimate.tpot_is_next_step = served.decode_steps < 1;
  estimate.ttft.time = served.prefill.Total();
  estimate.e2e.time = served.prefill.Total() + served.decode.Total();
  if (estimate.tpot_is_next_step) {
    const TimeParts next = served.step(1);
    estimate.decode.bound = next.LargestPart();
    estimate.tpot.time = next.Total();
  } else {
    estimate.tpot.time = served.decode.Total() / served.decode_steps;
  }
  estimate.throughput = MakeThroughput(scenario, served.requests_per_second, estimate.tpot.time);
  estimate.mbu = DecodeBandwidthUtilization(model, w, served.running, served.read, estimate.tpot.time);
  estimate.mfu = PrefillUtilization(model, w, served.prefilled, served.prefill_work);
}

void FillOperators(const Scenario& scenario, const StepModel& model, const Served& served, Estimate& estimate) {
  const Workload& w = scenario.workload;
  const double fresh = w.prompt_tokens - w.cached_prefix_tokens;
  const double chunk =
      std::min<double>(fresh, scenario.deployment.prefill_chunk_tokens.value_or(std::numeric_limits<int>::max()));
  if (fresh > 0) {
    estimate.prefill_operators = ExplainStep(model, {.prefill_sequences = served.prefilled,
                                                     .prefill_tokens = chunk,
                                                     .prefill_prior = w.prompt_tokens - chunk,
                                                     .logits_rows = served.prefilled});
  }
  const double decoding = std::ceil(served.running / model.shard.stages);
  estimate.decode_operators =
      ExplainStep(model, {.decode_sequences = decoding,
                          .decode_context = w.prompt_tokens + std::max(1.0, (served.decode_steps + 1) / 2),
                          .logits_rows = decoding});
}

std::vector<Seconds> TokenLatencies(const Served& served) {
  std::vector<Seconds> latencies = {served.prefill.Total()};
  for (double j = 1; j <= served.decode_steps; ++j) latencies.push_back(served.step(j).Total());
  return latencies;
}

}  // namespace

absl::StatusOr<StepModel> MakeStepModel(const Scenario& scenario, const Efficiencies& efficiencies,
                                        std::vector<Warning>* warnings) {
  absl::StatusOr<Machine> machine = MakeMachine(*scenario.hardware, scenario.deployment, efficiencies, warnings);
  if (!machine.ok()) return machine.status();
  const Deployment& d = scenario.deployment;
  const bool floor = efficiencies.speed_of_light;
  return StepModel{.shard = MakeShard(*scenario.model, d),
                   .machine = *machine,
                   .efficiencies = efficiencies,
                   .roofline_exponent = floor ? std::numeric_limits<double>::infinity() : d.roofline_exponent,
                   .attention_kernel = floor ? AttentionKernel::kFlash : d.attention_kernel,
                   .unfused_elementwise = !floor && d.unfused_elementwise,
                   .expert_routing = scenario.workload.expert_routing};
}

absl::StatusOr<Estimate> EstimateOperatorModel(const Scenario& asked, const Efficiencies& efficiencies,
                                               Provenance provenance, const Detail& detail) {
  if (absl::Status supported = CheckSupported(*asked.model); !supported.ok()) return supported;
  Scenario scenario = asked;
  const double per_replica = std::ceil(static_cast<double>(asked.workload.batch_size) / asked.deployment.data_parallel);
  scenario.workload = WithBatchLength(asked.workload, per_replica);
  Estimate estimate;
  const absl::StatusOr<StepModel> model = MakeStepModel(scenario, efficiencies, &estimate.warnings);
  if (!model.ok()) return model.status();
  const Capacity capacity = MeasureCapacity(scenario, model->shard, model->machine);
  const absl::StatusOr<Served> served = Serve({scenario, *model, capacity}, estimate.warnings);
  if (!served.ok()) return served.status();
  WarnOfScenario(scenario, model->shard, estimate.warnings);
  estimate.method = efficiencies.speed_of_light ? Method::kSpeedOfLight : Method::kOperatorModel;
  estimate.devices = scenario.deployment.devices();
  estimate.waves = static_cast<int>(served->waves);
  estimate.memory = MemoryOf(scenario, *model, capacity, served->held);
  FillTimes(scenario, *model, *served, provenance, estimate);
  if (detail.operators) FillOperators(scenario, *model, *served, estimate);
  if (detail.token_latencies) estimate.token_latencies = TokenLatencies(*served);
  return estimate;
}

}  // namespace foretoken
