#include "tests/estimator/extreme_scenarios.h"

#include <algorithm>
#include <cmath>

namespace foretoken {
namespace {

// As the server's conversion allows them (server/rpc/wire/convert.h).
constexpr int kMostTokens = 100'000'000;
constexpr int kMostSequences = 1'000'000;
constexpr int kMostDegree = 1024;
constexpr int kMostLayers = 10'000;
constexpr int kMostReplicas = 1'000'000;
constexpr int kMostQuantiles = 1000;
constexpr int kMostDrafted = 64;
constexpr double kMostReplicaTokens = 1e12;
constexpr double kMostBytes = 1e18;

}  // namespace

void ExtremeScenarios::Enlarge(Workload& w) {
  if (source_.OneIn(2)) w.batch_size = source_.LogUniform(1, kMostSequences);
  if (source_.OneIn(2)) w.prompt_tokens = source_.LogUniform(1, kMostTokens);
  if (source_.OneIn(2)) w.output_tokens = source_.LogUniform(1, kMostTokens);
  w.cached_prefix_tokens = source_.OneIn(3) ? source_.LogUniform(1, w.prompt_tokens) - 1 : 0;
}

// Over many devices, with a model of many layers and memory for everything.
void ExtremeScenarios::Spread(Scenario& s) {
  if (source_.OneIn(3)) {
    models_.push_back(*s.model);
    models_.back().num_hidden_layers = source_.LogUniform(s.model->num_hidden_layers, kMostLayers);
    s.model = &models_.back();
  }
  hardware_.push_back(*s.hardware);
  hardware_.back().memory_capacity = Bytes(source_.OneIn(8) ? source_.Uniform(1e9, 1e13) : kMostBytes);
  if (source_.OneIn(4)) hardware_.back().devices_per_node = source_.LogUniform(1, 1'000'000);
  s.hardware = &hardware_.back();
  Deployment& d = s.deployment;
  if (source_.OneIn(2)) d.prefill_chunk_tokens = source_.LogUniform(1, kMostTokens);
  if (source_.OneIn(3)) d.pipeline_parallel = source_.LogUniform(1, std::min(kMostDegree, s.model->num_hidden_layers));
  if (source_.OneIn(4)) d.tensor_parallel = source_.LogUniform(1, kMostDegree);
  if (source_.OneIn(6)) d.data_parallel = source_.LogUniform(1, kMostDegree);
  const int ranks = d.tensor_parallel * d.data_parallel;
  if (ranks % d.expert_parallel != 0) d.expert_parallel = ranks;
  d.expert_load_imbalance = std::min<double>(d.expert_load_imbalance, d.expert_parallel);
}

void ExtremeScenarios::Draft(Scenario& s) {
  Speculation speculation;
  speculation.draft = &source_.AnyModel();
  speculation.draft_tokens = source_.LogUniform(1, kMostDrafted);
  speculation.acceptance = source_.OneIn(4) ? source_.Pick(2) : source_.Uniform(0, 1);
  speculation.follows = speculation.draft->num_hidden_layers >= s.deployment.pipeline_parallel && source_.OneIn(2);
  ResolveDtypes(*speculation.draft, speculation.deployment);
  s.speculation = speculation;
}

void ExtremeScenarios::Disaggregate(Scenario& s) {
  Disaggregation d;
  d.hardware = s.hardware;
  d.deployment = s.deployment;
  d.batch_size = source_.OneIn(2) ? 1 : source_.LogUniform(1, kMostReplicas);
  d.prefill_replicas = source_.LogUniform(1, kMostReplicas);
  d.decode_replicas = source_.LogUniform(1, kMostReplicas);
  d.layerwise_transfer = source_.OneIn(2);
  s.disaggregation = d;
}

void ExtremeScenarios::VaryLengths(Workload& w) {
  OutputLengthDistribution lengths;
  lengths.mean_tokens = w.output_tokens;
  if (source_.OneIn(2)) {
    const int count = source_.LogUniform(1, kMostQuantiles);
    for (int i = 1; i <= count; ++i) {
      lengths.quantiles.push_back({.probability = 1.0 * i / count, .tokens = 2.0 * w.output_tokens * i / count});
    }
  }
  w.output_lengths = lengths;
}

void ExtremeScenarios::Arrive(Scenario& s) {
  Workload& w = s.workload;
  if (w.request_rate_per_second) w.request_rate_per_second = std::exp(source_.Uniform(std::log(1e-9), std::log(1e6)));
  if (w.batching_window) w.batching_window = Seconds(std::exp(source_.Uniform(std::log(1e-9), std::log(1e9))));
  if (w.prefills_on_arrival()) {
    w.prompt_arrival_tokens_per_second = std::exp(source_.Uniform(std::log(1e-3), std::log(1e9)));
  }
}

void ExtremeScenarios::Load(Scenario& s) {
  LiveLoad& load = *s.live_load;
  const auto tokens = [&] { return source_.LogUniform(1, kMostTokens) - 1.0; };
  const auto of_all = [&] { return std::floor(std::exp(source_.Uniform(0, std::log(kMostReplicaTokens)))); };
  if (source_.OneIn(2)) load.running_sequences = source_.LogUniform(1, kMostSequences) - 1;
  if (source_.OneIn(2)) load.running_context_tokens = tokens();
  if (source_.OneIn(2)) load.remaining_output_tokens = source_.OneIn(6) ? source_.Uniform(0, 1e-6) : tokens();
  if (source_.OneIn(2)) load.waiting_requests = source_.LogUniform(1, kMostSequences) - 1;
  if (source_.OneIn(2)) load.queued_prefill_tokens = of_all();
  if (source_.OneIn(2)) load.in_flight_prefill_tokens = of_all();
  if (source_.OneIn(2)) load.free_kv_tokens = of_all();
  if (source_.OneIn(2)) load.max_num_seqs = source_.LogUniform(1, kMostSequences);
  if (source_.OneIn(2)) load.max_num_batched_tokens = source_.LogUniform(1, kMostTokens);
  if (source_.OneIn(4)) load.kv_block_tokens = source_.LogUniform(1, kMostTokens);
  if (load.max_num_seqs) load.running_sequences = std::min(*load.running_sequences, *load.max_num_seqs);
}

Scenario ExtremeScenarios::Next() {
  Scenario s = source_.Next();
  Enlarge(s.workload);
  Spread(s);
  Arrive(s);
  if (s.live_load) Load(s);
  const bool whole = s.workload.keeps_kv_cache() && !s.workload.prefills_on_arrival();
  if (!s.live_load && whole && source_.OneIn(4)) Draft(s);
  const bool pools = s.workload.batching == BatchingPolicy::kStatic ||
                     (s.workload.batching == BatchingPolicy::kContinuous && s.workload.request_rate_per_second);
  if (!s.live_load && !s.speculation && whole && pools && source_.OneIn(6)) Disaggregate(s);
  if (!s.live_load && !s.disaggregation && source_.OneIn(6)) VaryLengths(s.workload);
  if (source_.OneIn(8)) s.method = Method::kSpeedOfLight;
  return s;
}

}  // namespace foretoken
