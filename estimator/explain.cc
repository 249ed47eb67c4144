#include "estimator/explain.h"

#include <algorithm>
#include <iterator>
#include <string_view>

namespace foretoken {
namespace {

constexpr std::string_view kGemm = "smax(2 N K (M + M0) / P_mm, (N K w + M (N + K) a) / (BW e_w)) per matrix";
constexpr std::string_view kRoofline = "smax(flops / (P e), bytes / (BW e))";
constexpr std::string_view kTraffic = "bytes / (BW e)";

struct Text {
  std::string_view name;
  std::string_view formula;
};

// Indexed by OperatorKind.
constexpr Text kTexts[] = {
    {"embedding", kTraffic},
    {"qkv_proj", kGemm},
    {"latent_down_proj", kGemm},
    {"latent_query_proj", kGemm},
    {"latent_up_proj", kGemm},
    {"latent_expand", kRoofline},
    {"prefill_attention", "smax(2 A H (dqk + dv) / (P e_a), KV and query bytes / (BW e_k)) per layer and sequence"},
    {"decode_attention", "smax(2 c H (dqk + dv) / (P_v e_d), c KV bytes / (BW e_k)) per layer and sequence"},
    {"out_proj", kGemm},
    {"mlp_up", kGemm},
    {"mlp_down", kGemm},
    {"shared_mlp_up", kGemm},
    {"shared_mlp_down", kGemm},
    {"router", kGemm},
    {"expert_up", kGemm},
    {"expert_down", kGemm},
    {"elementwise", kTraffic},
    {"all_reduce", "min(2 (q-1)/q M/Bn + 2 (q-1) alpha, 2 log2(q) (alpha + M/Bn), (q-1) M/Bn + alpha)"},
    {"expert_all_to_all", "sent / Bn + alpha"},
    {"stage_transfer", "M/Bn + alpha"},
    {"lm_head", kGemm},
    {"logits_gather", "(q-1)/q M/Bn + min(q-1, log2(q)) alpha"},
};

static_assert(std::size(kTexts) == static_cast<size_t>(OperatorKind::kLogitsGather) + 1);

bool IsGemm(const OperatorCost& cost) { return cost.n > 0; }

FlopsPerSecond RateOf(const StepModel& model, const OperatorCost& cost) {
  switch (cost.kind) {
    case OperatorKind::kPrefillAttention:
      return model.machine.prefill_attention;
    case OperatorKind::kDecodeAttention:
      return cost.flops / cost.compute;  // by vector or matrix units
    case OperatorKind::kLmHead:
      return model.machine.head_gemm;
    default:
      return model.machine.gemm;
  }
}

BytesPerSecond BandwidthOf(const StepModel& model, const OperatorCost& cost) {
  if (IsGemm(cost)) return model.machine.weight_read;
  const bool attention = cost.kind == OperatorKind::kPrefillAttention || cost.kind == OperatorKind::kDecodeAttention;
  return attention ? model.machine.kv_read : model.machine.elementwise;
}

// Devices among which the operator communicates.
double GroupOf(const StepModel& model, OperatorKind kind) {
  return kind == OperatorKind::kExpertAllToAll ? model.shard.experts->expert_parallel : model.shard.tensor_parallel;
}

std::vector<std::pair<std::string, double>> InputsOf(const StepModel& model, const OperatorCost& cost) {
  std::vector<std::pair<std::string, double>> inputs;
  if (IsGemm(cost)) inputs = {{"M", cost.rows}, {"N", cost.n}, {"K", cost.k}};
  if (cost.flops.value() > 0) inputs.emplace_back("reached_flops_per_second", RateOf(model, cost).value());
  if (cost.bytes.value() > 0) {
    inputs.emplace_back("reached_bytes_per_second", BandwidthOf(model, cost).value());
  }
  if (cost.sent.value() > 0) {
    inputs.emplace_back("q", GroupOf(model, cost.kind));
    inputs.emplace_back("link_bytes_per_second", model.machine.fabric.link.value());
    inputs.emplace_back("alpha_seconds", model.machine.fabric.latency.value());
  } else {
    inputs.emplace_back("s", model.roofline_exponent);
  }
  return inputs;
}

OperatorEstimate Explain(const StepModel& model, const OperatorCost& cost) {
  const Text& text = kTexts[static_cast<size_t>(cost.kind)];
  return {.name = std::string(text.name),
          .count = cost.count,
          .flops = cost.flops,
          .bytes = cost.bytes,
          .communication_bytes = cost.sent,
          .parts = cost.Parts(model.roofline_exponent),
          .formula = std::string(text.formula),
          .inputs = InputsOf(model, cost)};
}

// What is left of the step beside its operators; at the speed of light nothing, where rounding would leave less.
OperatorEstimate HostRow(const StepModel& model, const StepShape& shape, Seconds operators) {
  const Efficiencies& e = model.efficiencies;
  return {.name = "host",
          .count = 1,
          .parts = {.host = std::max(Seconds(0), StepTime(model, shape).Total() - operators)},
          .formula = "smax(operators + L c_gap, c_step + L c_layer) - operators + T c_tok + R c_req",
          .inputs = {{"L", model.shard.layers},
                     {"T", shape.Tokens()},
                     {"R", shape.logits_rows},
                     {"c_gap_seconds", e.layer_gap.value()},
                     {"c_step_seconds", e.host_step.value()},
                     {"c_layer_seconds", e.host_layer.value()},
                     {"c_tok_seconds", e.host_token.value()},
                     {"c_req_seconds", e.host_request.value()},
                     {"s", model.roofline_exponent}}};
}

}  // namespace

std::vector<OperatorEstimate> ExplainStep(const StepModel& model, const StepShape& shape) {
  std::vector<OperatorEstimate> rows;
  Seconds operators;
  for (const OperatorCost& cost : StepOperators(model, shape)) {
    rows.push_back(Explain(model, cost));
    operators += rows.back().parts.Total();
  }
  rows.push_back(HostRow(model, shape, operators));
  return rows;
}

}  // namespace foretoken
