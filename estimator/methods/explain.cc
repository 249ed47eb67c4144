#include "estimator/methods/explain.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <string_view>
#include <utility>

namespace foretoken {
namespace {

constexpr std::string_view kGemm = "smax(2 N K (M + M0) / P_mm, (N K w + M (K a + N a_r)) / (BW e_w)) per matrix";
constexpr std::string_view kExpertGemm =
    "smax(2 N K (M + M_x) / (P e_x), (N K w + M (K a + N a_r)) / (BW e_w)) per expert matrix";
constexpr std::string_view kRoofline = "smax(flops / (P e), bytes / (BW e))";
constexpr std::string_view kTraffic = "bytes / (BW e)";

// How a person reads an operator whose cost VisitOperators computes.
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
    {"indexer_proj", kGemm},
    {"compressor_proj", kGemm},
    {"recurrent_in_proj", kGemm},
    {"recurrent_gate_proj", kGemm},
    {"latent_expand", kRoofline},
    {"prefill_indexer", "smax(2 A H_i d_i / (P_8 e_a), (key and score bytes) / (BW e_k)) per layer and sequence"},
    {"decode_indexer", "smax(2 c H_i d_i / (P_8 e_a), c (key and score bytes) / (BW e_k)) per layer and sequence"},
    {"prefill_attention", "smax(2 A H (dqk + dv) / (P e_a), KV and query bytes / (BW e_k)) per layer and sequence"},
    {"decode_attention", "smax(2 c H (dqk + dv) / (P_v e_d), c KV bytes / (BW e_k)) per layer and sequence"},
    {"prefill_recurrence", "smax(chunk flops / (P_v e_r), (chunk and state bytes) / (BW e_k)) per layer"},
    {"decode_recurrence", "smax(7 H dk dv / (P_v e_r), (1 + tokens) state bytes / (BW e_k)) per layer and sequence"},
    {"out_proj", kGemm},
    {"grouped_out_proj", kGemm},
    {"recurrent_out_proj", kGemm},
    {"per_layer_input", kGemm},
    {"residual_mixing", kGemm},
    {"expert_projection", kGemm},
    {"mlp_up", kGemm},
    {"mlp_down", kGemm},
    {"shared_mlp_up", kGemm},
    {"shared_mlp_down", kGemm},
    {"router", kGemm},
    {"expert_up", kExpertGemm},
    {"expert_down", kExpertGemm},
    {"expert_rows", kTraffic},
    {"elementwise", kTraffic},
    {"all_reduce", "min(2 (q-1)/q M/Bn + 2 alpha, (q-1) M/Bn + alpha)"},
    {"expert_exchange", "sent / Bn + alpha, past a node in two tiers"},
    {"stage_transfer", "M/Bn + alpha"},
    {"lm_head", kGemm},
    {"logits_gather", "(q-1)/q M/Bn + alpha"},
};

static_assert(std::size(kTexts) == static_cast<size_t>(OperatorKind::kLogitsGather) + 1);

bool IsGemm(const OperatorCost& cost) { return cost.n > 0; }

// Decode attention works on vector or matrix units; its cost tells which.
FlopsPerSecond RateOf(const StepModel& model, const OperatorCost& cost) {
  if (cost.kind == OperatorKind::kDecodeAttention) return cost.flops / cost.compute;
  return ReachedRate(model.machine, cost.kind);
}

// Devices among which the operator communicates.
double GroupOf(const StepModel& model, OperatorKind kind) {
  return kind == OperatorKind::kExpertExchange ? model.shard.experts->devices : model.shard.tensor_parallel;
}

std::vector<std::pair<std::string, double>> InputsOf(const StepModel& model, const OperatorCost& cost) {
  std::vector<std::pair<std::string, double>> inputs;
  if (IsGemm(cost)) inputs = {{"M", cost.rows}, {"N", cost.n}, {"K", cost.k}};
  if (cost.flops.value() > 0) inputs.emplace_back("reached_flops_per_second", RateOf(model, cost).value());
  if (cost.bytes.value() > 0) {
    inputs.emplace_back("reached_bytes_per_second", ReachedBandwidth(model.machine, cost.kind).value());
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

// The time of the step beyond its operators. At the speed of light it is 0, and rounding may not make it negative.
OperatorEstimate HostRow(const StepModel& model, const StepShape& shape, Seconds operators) {
  const Efficiencies& e = model.efficiencies;
  return {.name = "host",
          .count = 1,
          .parts = {.host = std::max(Seconds(0), StepTime(model, shape).Total() - operators)},
          .formula = "smax(operators + L c_gap, c_step + L c_layer + T c_tok + R c_req) - operators",
          .inputs = {{"L", model.shard.layers},
                     {"T", shape.Tokens()},
                     {"R", shape.logits_rows},
                     {"c_gap_seconds", e.layer_gap.value()},
                     {"c_step_seconds", e.host_step.value()},
                     {"c_layer_seconds", HostOfLayer(e, shape).value()},
                     {"c_tok_seconds", e.host_token.value()},
                     {"c_req_seconds", e.host_request.value()},
                     {"s", model.roofline_exponent}}};
}

// Adds the rows of `runs` such steps: one per operator, and a last row "host" with the CPU overhead and the kernel gaps
// between layers. The rows sum to `runs` times StepTime(model, shape).
void AddStep(const StepModel& model, const StepShape& shape, const char* prefix, double runs,
             std::vector<OperatorEstimate>& rows) {
  std::vector<OperatorEstimate> step;
  Seconds operators;
  for (const OperatorCost& cost : StepOperators(model, shape)) {
    step.push_back(Explain(model, cost));
    operators += step.back().parts.Total();
  }
  step.push_back(HostRow(model, shape, operators));
  for (OperatorEstimate& op : step) {
    op.name = prefix + op.name;
    op.count *= runs;
    op.flops = op.flops * runs;
    op.bytes = op.bytes * runs;
    op.communication_bytes = op.communication_bytes * runs;
    op.parts = op.parts * runs;
    rows.push_back(std::move(op));
  }
}

// The last full chunk of the prefill, or the whole prefill if it is not cut.
StepShape LastChunk(const Scenario& scenario, double sequences) {
  const Workload& w = scenario.workload;
  const double chunk = std::min(w.fresh_tokens(), ChunkTokens(w, scenario.deployment).value_or(w.fresh_tokens()));
  return {.prefill_sequences = sequences,
          .prefill_tokens = chunk,
          .prefill_prior = w.prompt_tokens - chunk,
          .logits_rows = sequences};
}

// The mean decode step of `decoding` sequences, each fed `tokens`.
StepShape MeanStep(const Scenario& scenario, double steps, double decoding, double tokens) {
  return {.decode_sequences = decoding,
          .decode_context = scenario.workload.prompt_tokens + std::max(1.0, (steps + 1) / 2) + tokens - 1,
          .decode_tokens = tokens,
          .logits_rows = decoding * tokens};
}

}  // namespace

void FillOperators(const Replica& replica, const Served& served, Estimate& estimate) {
  const Scenario& scenario = replica.scenario;
  const PrefillPool* pool = replica.prefill_pool;
  const Speculator* speculator = replica.speculator;
  const double tokens = speculator != nullptr ? speculator->draft_tokens + 1 : 1;
  const double share = speculator != nullptr ? 1 / speculator->accepted : 1;
  const double decoding = std::ceil(served.running / replica.model.shard.stages);
  AddStep(replica.model, MeanStep(scenario, served.decode_steps, decoding, tokens), "", share,
          estimate.decode_operators);
  if (speculator != nullptr) {
    AddStep(speculator->draft, MeanStep(scenario, served.decode_steps, decoding, 1), "draft_",
            speculator->draft_tokens * share, estimate.decode_operators);
  }
  if (scenario.workload.fresh_tokens() <= 0) return;
  const StepShape prompts = LastChunk(pool != nullptr ? pool->scenario : scenario, served.prefilled);
  AddStep(pool != nullptr ? pool->model : replica.model, prompts, "", 1, estimate.prefill_operators);
  if (speculator != nullptr) AddStep(speculator->draft, prompts, "draft_", 1, estimate.prefill_operators);
}

}  // namespace foretoken
