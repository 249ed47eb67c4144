#include "tests/estimator/random_scenarios.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <sstream>
#include <utility>

#include "estimator/methods/estimator.h"
#include "server/catalog/entries/embedded.h"
#include "tests/estimator/mixed_models.h"

namespace foretoken {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

BundledEntries ReadBundle() {
  const catalog::Bundle bundle = *catalog::LoadEmbeddedBundle();
  BundledEntries entries;
  for (const catalog::ModelRecord& record : bundle.models) {
    const bool supported = record.model.unsupported_reason.empty();
    (supported ? entries.models : entries.unsupported_models).push_back(record.model);
  }
  for (const Model& model : entries.models) (IsMixed(model) ? entries.mixed : entries.plain).push_back(&model);
  for (const catalog::HardwareRecord& record : bundle.hardware) entries.hardware.push_back(record.hardware);
  for (const Calibration& calibration : bundle.calibrations->parsed.all()) entries.calibrations.push_back(calibration);
  return entries;
}

template <typename T>
void FillIn(std::optional<T>& figure, T value) {
  if (!figure) figure = value;
}

}  // namespace

const BundledEntries& Bundled() {
  static const BundledEntries& entries = *new BundledEntries(ReadBundle());  // at one place: the models are pointed to
  return entries;
}

Hardware Roomy(Hardware hardware) {
  hardware.memory_capacity = Bytes(1e16);
  FillIn(hardware.memory_bandwidth, GigabytesPerSecond(500));
  FillIn(hardware.peak.fp32, Teraflops(20));
  FillIn(hardware.peak.bf16, hardware.peak.fp16.value_or(Teraflops(100)));
  FillIn(hardware.interconnect, GigabytesPerSecond(50));
  FillIn(hardware.devices_per_node, 8);
  FillIn(hardware.scale_out, GigabytesPerSecond(25));
  return hardware;
}

double RandomScenarios::Uniform(double low, double high) { return std::uniform_real_distribution(low, high)(random_); }

int RandomScenarios::LogUniform(int low, int high) {
  return static_cast<int>(std::exp(Uniform(std::log(low), std::log(high + 1.0))));
}

Model RandomScenarios::MakeModel() {
  const int kv_heads = 1 << Pick(5);
  Model m{.id = "made-up",
          .num_hidden_layers = LogUniform(2, 120),
          .hidden_size = 64 * LogUniform(4, 256),
          .num_attention_heads = kv_heads * LogUniform(1, 16),
          .num_key_value_heads = kv_heads,
          .head_dim = 32 << Pick(4),
          .intermediate_size = 64 * LogUniform(8, 512),
          .vocab_size = LogUniform(1000, 300000),
          .tie_word_embeddings = OneIn(3),
          .mlp_matrices = 2 + Pick(2),
          .norms_per_layer = 1 + Pick(4),
          .parallel_block = OneIn(4)};
  if (OneIn(3)) {
    m.sliding_window = SlidingWindow{.window_tokens = LogUniform(16, 8192),
                                     .num_full_attention_layers = Pick(m.num_hidden_layers + 1),
                                     .chunked = OneIn(2)};
  }
  if (OneIn(4)) {
    m.num_key_value_heads = m.num_attention_heads;
    m.latent_attention = LatentAttention{.kv_lora_rank = 64 * LogUniform(1, 16),
                                         .qk_rope_head_dim = 32 * Pick(4),
                                         .qk_nope_head_dim = 32 * LogUniform(1, 8),
                                         .v_head_dim = 32 * LogUniform(1, 8)};
    if (OneIn(2)) m.latent_attention->q_lora_rank = 64 * LogUniform(2, 32);
  }
  if (OneIn(2)) {
    const int experts = LogUniform(1, 256);
    m.mixture_of_experts = MixtureOfExperts{.num_experts = experts,
                                            .num_experts_per_tok = 1 + Pick(std::min(experts, 12)),
                                            .moe_intermediate_size = 64 * LogUniform(2, 128),
                                            .first_k_dense_replace = OneIn(2) ? Pick(m.num_hidden_layers) : 0,
                                            .moe_layer_freq = OneIn(4) ? 2 : 1,
                                            .dense_intermediate_size = m.intermediate_size};
    if (OneIn(2)) m.mixture_of_experts->shared_expert_intermediate_size = 64 * LogUniform(2, 128);
  }
  return m;
}

Hardware RandomScenarios::MakeHardware() {
  Hardware h{.id = "made-up"};
  h.memory_bandwidth = GigabytesPerSecond(LogUniform(30, 20000));
  h.peak.bf16 = Teraflops(LogUniform(1, 5000));
  if (!OneIn(4)) h.peak.fp32 = *h.peak.bf16 / LogUniform(1, 64);
  if (OneIn(2)) h.peak.fp8 = *h.peak.bf16 * 2;
  h.interconnect = GigabytesPerSecond(LogUniform(4, 2000));
  h.scale_out = GigabytesPerSecond(LogUniform(1, 200));
  h.devices_per_node = 1 << Pick(5);
  h.tdp_watts = LogUniform(10, 2000);
  if (OneIn(2)) h.idle_watts = *h.tdp_watts * Uniform(0.05, 0.5);
  return h;
}

const Model& RandomScenarios::AnyModel() {
  const bool mixed = kinds_ == ModelKinds::kMixed;
  const std::vector<const Model*>& bundled = mixed ? Bundled().mixed : Bundled().plain;
  if (!OneIn(2)) return *bundled[static_cast<size_t>(Pick(static_cast<int>(bundled.size())))];
  return models_.emplace_back(mixed ? MixedModel(*this) : MakeModel());
}

const Hardware& RandomScenarios::AnyHardware() {
  const std::deque<Hardware>& bundled = Bundled().hardware;
  if (OneIn(2)) return hardware_.emplace_back(Roomy(MakeHardware()));
  return hardware_.emplace_back(Roomy(bundled[static_cast<size_t>(Pick(static_cast<int>(bundled.size())))]));
}

void RandomScenarios::Parallelise(Scenario& s) {
  Deployment& d = s.deployment;
  if (OneIn(3)) return;
  d.tensor_parallel = OneIn(5) ? 1 + Pick(12) : 1 << Pick(5);
  if (OneIn(3)) d.pipeline_parallel = 1 + Pick(std::min(4, s.model->num_hidden_layers));
  if (OneIn(4)) d.data_parallel = 1 << Pick(4);
  const int ranks = d.tensor_parallel * d.data_parallel;
  if (s.model->mixture_of_experts && OneIn(2)) {
    do {
      d.expert_parallel = 1 + Pick(ranks);
    } while (ranks % d.expert_parallel != 0);
    if (OneIn(2)) d.expert_load_imbalance = 1 + Pick(100) / 100.0 * (d.expert_parallel - 1);
    if (OneIn(2)) d.expert_exchange = ExpertExchange::kAllToAll;
  }
}

void RandomScenarios::Tune(Deployment& d) {
  if (OneIn(3)) {
    d.weight_dtype =
        std::array{Dtype::kFp16, Dtype::kFp8,    Dtype::kInt8,  Dtype::kInt4,
                   Dtype::kQ4_0, Dtype::kQ4_K_M, Dtype::kMxfp4, Dtype::kFp8Block}[static_cast<size_t>(Pick(8))];
  }
  if (OneIn(4)) d.kv_cache_dtype = Dtype::kFp8;
  if (OneIn(2)) d.prefill_chunk_tokens = LogUniform(16, 8192);
  d.attention_kernel = OneIn(5) ? AttentionKernel::kNaive : AttentionKernel::kFlash;
  d.unfused_elementwise = OneIn(5);
  d.roofline_exponent = std::array{1.0, 2.0, 2.0, 3.0, kInf}[static_cast<size_t>(Pick(5))];
}

void RandomScenarios::Cache(Workload& w) {
  if (OneIn(3)) w.cached_prefix_tokens = Pick(w.prompt_tokens);
  if (w.cached_prefix_tokens > 0 && OneIn(4)) w.prefix_load = GigabytesPerSecond(LogUniform(1, 500));
  if (OneIn(8)) w.tokenizer_tokens_per_second = LogUniform(10000, 1000000);
  if (OneIn(2)) w.expert_routing = ExpertRouting::kIdenticalPrompts;
}

Scenario RandomScenarios::NextBatch() {
  Scenario s{.model = &AnyModel(), .hardware = &AnyHardware()};
  s.method = Method::kOperatorModel;
  s.workload = {
      .batch_size = LogUniform(1, 1024), .prompt_tokens = LogUniform(1, 30000), .output_tokens = LogUniform(1, 8000)};
  Parallelise(s);
  Tune(s.deployment);
  ResolveDtypes(*s.model, s.deployment);
  Cache(s.workload);
  if (OneIn(12)) {
    s.workload.kv_cache_mode = KvCacheMode::kPipelinedPromptCache;
    s.workload.prompt_arrival_tokens_per_second = LogUniform(1, 100000);
  } else if (OneIn(12)) {
    s.workload.kv_cache_mode = KvCacheMode::kNone;
    s.workload.cached_prefix_tokens = 0;
    s.workload.prefix_load.reset();
  }
  return s;
}

void RandomScenarios::Load(Scenario& s) {
  LiveLoad load{.running_sequences = Pick(100), .running_context_tokens = LogUniform(1, 8000)};
  load.remaining_output_tokens = Pick(500);
  // From what was drawn, so that all other scenarios stay as they were.
  const int percent = *load.running_sequences;
  if (percent % 3 == 0) load.least_remaining_output_tokens = *load.remaining_output_tokens * percent / 100.0;
  if (OneIn(2)) load.waiting_requests = Pick(20);
  if (OneIn(2)) load.queued_prefill_tokens = LogUniform(1, 30000);
  if (OneIn(2)) load.in_flight_prefill_tokens = LogUniform(1, 8000);
  if (OneIn(2)) load.free_kv_tokens = LogUniform(20000, 200000);
  if (OneIn(2)) load.max_num_seqs = LogUniform(1, 256);
  if (OneIn(2)) load.max_num_batched_tokens = LogUniform(128, 8192);
  s.live_load = load;
}

Scenario RandomScenarios::Next() {
  Scenario s = NextBatch();
  Workload& w = s.workload;
  if (w.kv_cache_mode != KvCacheMode::kCached || OneIn(2)) return s;
  const auto rate = [this] { return 0.01 * LogUniform(1, 2000); };
  switch (Pick(4)) {
    case 0:
      w.batching = BatchingPolicy::kDynamic;
      w.batch_size = LogUniform(1, 128) * s.deployment.data_parallel;
      w.request_rate_per_second = rate();
      if (OneIn(2)) w.batching_window = Seconds(0.01 * Pick(100));
      break;
    case 1:
      w.batching = BatchingPolicy::kContinuous;
      w.request_rate_per_second = rate();
      break;
    case 2:
      w.batching = BatchingPolicy::kContinuous;
      break;
    default:
      Load(s);
  }
  if (!s.live_load && OneIn(4)) w.output_lengths = OutputLengthDistribution{.mean_tokens = 1.0 * w.output_tokens};
  return s;
}

std::string Describe(const Scenario& s) {
  std::ostringstream out;
  const Workload& w = s.workload;
  const Deployment& d = s.deployment;
  out << s.model->id << " on " << s.hardware->id << " tp " << d.tensor_parallel << " pp " << d.pipeline_parallel
      << " ep " << d.expert_parallel << " dp " << d.data_parallel << " imbalance " << d.expert_load_imbalance
      << (d.expert_exchange == ExpertExchange::kAllToAll ? " all-to-all" : "") << " B " << w.batch_size << " S "
      << w.prompt_tokens << " p " << w.cached_prefix_tokens << " O " << w.output_tokens << " chunk "
      << d.prefill_chunk_tokens.value_or(0) << " s " << d.roofline_exponent << " policy "
      << static_cast<int>(w.batching) << " cache " << static_cast<int>(w.kv_cache_mode) << " rate "
      << w.request_rate_per_second.value_or(0) << " live " << s.live_load.has_value();
  if (s.model->sliding_window) {
    out << " window " << s.model->sliding_window->window_tokens << (s.model->sliding_window->chunked ? " chunked" : "");
  }
  if (s.model->latent_attention) out << " latent";
  if (s.model->mixture_of_experts) {
    const MixtureOfExperts& moe = *s.model->mixture_of_experts;
    out << " experts " << moe.num_experts << " chosen " << moe.num_experts_per_tok;
  }
  out << " L " << s.model->num_hidden_layers << " H " << s.model->num_attention_heads << " weights "
      << DtypeName(d.weight_dtype);
  return out.str();
}

Estimate MustEstimate(const Scenario& scenario) {
  absl::StatusOr<Estimate> estimate = ComputeEstimate(scenario);
  EXPECT_TRUE(estimate.ok()) << Describe(scenario) << ": " << estimate.status();
  return estimate.ok() ? *std::move(estimate) : Estimate{};
}

}  // namespace foretoken
