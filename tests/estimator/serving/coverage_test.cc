// The table of coverage against what the core model does: every cell is asked.
#include "estimator/serving/coverage.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>

#include "absl/strings/str_replace.h"
#include "estimator/base/errors.h"
#include "estimator/methods/linear_profile.h"
#include "estimator/serving/coverage_rows.h"
#include "tests/estimator/fixtures.h"
#include "tests/estimator/serving/coverage_page.h"
#include "tests/paths.h"

namespace foretoken {
namespace {

using ::testing::Contains;
using ::testing::Not;

constexpr char kEngine[] = "an-engine";

// A scenario of one scope, with the models and devices that it points to.
struct Question {
  explicit Question(Scope asked) : scope(asked) {
    hardware.memory_capacity = Bytes(1e13);
    scenario = MakeScenario(model, hardware, scope == Scope::kKpi ? 1 : 4, 1000, 100);
  }
  Question(const Question&) = delete;
  Question& operator=(const Question&) = delete;

  Workload& workload() { return scenario.workload; }
  Deployment& deployment() { return scenario.deployment; }
  LiveLoad& load() { return scenario.live_load ? *scenario.live_load : scenario.live_load.emplace(); }
  bool one_device() const { return scope == Scope::kKpi; }

  // The same change to the deployments of both pools, where there are two.
  template <typename Change>
  void Deploy(Change change) {
    change(scenario.deployment);
    if (scenario.disaggregation) change(scenario.disaggregation->deployment);
  }

  // Four devices, in two replicas that share the experts of a mixture. A token goes to half of the devices.
  void ShareExperts() {
    if (one_device()) return;
    model = Mixtral8x7b();
    Deploy([](Deployment& d) {
      d.tensor_parallel = d.data_parallel = 2;
      d.expert_parallel = 4;
    });
  }

  void SpreadOverNodes() {
    if (one_device()) return;
    Deploy([](Deployment& d) {
      d.tensor_parallel = 2;
      d.devices_per_node = 1;
    });
  }

  void Speculate() {
    scenario.speculation = Speculation{.draft = &draft, .draft_tokens = 4, .acceptance = 0.7};
    ResolveDtypes(draft, scenario.speculation->deployment);
  }

  void Disaggregate() {
    scenario.disaggregation = Disaggregation{.hardware = &hardware, .deployment = scenario.deployment};
  }

  absl::StatusOr<Estimate> Ask() {
    if (scope == Scope::kLinearProfile) {
      hardware.linear_profiles = {{.key = ProfileKeyOf(scenario),
                                   .prefill_tokens_per_second = 20000,
                                   .effective_bandwidth = GigabytesPerSecond(1500)}};
    }
    return ComputeEstimate(scenario);
  }

  Scope scope;
  Model model = Llama2_7b();
  Model draft = Llama2_7b();
  Hardware hardware = A100();
  Scenario scenario;
};

// Makes the question one of its scope.
void Base(Question& q) {
  switch (q.scope) {
    case Scope::kDynamic:
      q.workload().batching = BatchingPolicy::kDynamic;
      q.workload().request_rate_per_second = 0.1;
      return;
    case Scope::kOpenLoop:
      q.workload().request_rate_per_second = 0.1;
      [[fallthrough]];
    case Scope::kClosedLoop:
      q.workload().batching = BatchingPolicy::kContinuous;
      return;
    case Scope::kLiveLoad:
      q.workload().batching = BatchingPolicy::kContinuous;
      q.load() = {.running_sequences = 4, .running_context_tokens = 500, .remaining_output_tokens = 50};
      return;
    case Scope::kDisaggregatedContinuous:
      q.workload().batching = BatchingPolicy::kContinuous;
      [[fallthrough]];
    case Scope::kDisaggregatedBatches:
      return q.Disaggregate();
    case Scope::kSpeedOfLight:
      q.scenario.method = Method::kSpeedOfLight;
      return;
    case Scope::kLinearProfile:
      q.scenario.method = Method::kLinearProfile;
      return;
    case Scope::kKpi:
      q.scenario.method = Method::kKpi;
      return;
    case Scope::kStatic:
    case Scope::kOutputRow:
    case Scope::kEnd:
      q.scenario.method = Method::kOperatorModel;
  }
}

using Change = void (*)(Question&);

void Nothing(Question&) {}
void ShareExperts(Question& q) { q.ShareExperts(); }

// What a feature needs to have an effect, and the feature itself.
struct Statement {
  Feature feature;
  Change prepare;
  Change state;
};

constexpr Statement kStatements[] = {
    {Feature::kLiveLoad, Nothing, [](Question& q) { q.load().max_num_seqs = 2; }},
    {Feature::kRequestRate, Nothing, [](Question& q) { q.workload().request_rate_per_second = 0.4; }},
    {Feature::kRequestRateOfPrefillBatches, Nothing,
     [](Question& q) {
       q.workload().request_rate_per_second = 0.4;
       if (q.scenario.disaggregation) q.scenario.disaggregation->batch_size = 2;
     }},
    {Feature::kDynamicBatching, Nothing, [](Question& q) { q.workload().batching = BatchingPolicy::kDynamic; }},
    {Feature::kContinuousBatching, Nothing, [](Question& q) { q.workload().batching = BatchingPolicy::kContinuous; }},
    {Feature::kOutputLengths, Nothing,
     [](Question& q) { q.workload().output_lengths = OutputLengthDistribution{.mean_tokens = 50, .max_tokens = 100}; }},
    {Feature::kSpeculation, Nothing, [](Question& q) { q.Speculate(); }},
    {Feature::kSpeculationWithoutKvCache, [](Question& q) { q.workload().kv_cache_mode = KvCacheMode::kNone; },
     [](Question& q) { q.Speculate(); }},
    {Feature::kDisaggregation, Nothing, [](Question& q) { q.Disaggregate(); }},
    {Feature::kTokenizer, Nothing, [](Question& q) { q.workload().tokenizer_tokens_per_second = 1e5; }},
    {Feature::kNaiveAttention, Nothing,
     [](Question& q) { q.Deploy([](Deployment& d) { d.attention_kernel = AttentionKernel::kNaive; }); }},
    {Feature::kNoKvCache, Nothing, [](Question& q) { q.workload().kv_cache_mode = KvCacheMode::kNone; }},
    {Feature::kPipelinedPromptCache, Nothing,
     [](Question& q) {
       q.workload().kv_cache_mode = KvCacheMode::kPipelinedPromptCache;
       q.workload().prompt_arrival_tokens_per_second = 5000;
       q.deployment().prefill_chunk_tokens = 100;
     }},
    {Feature::kPrefixLoad, [](Question& q) { q.workload().cached_prefix_tokens = 500; },
     [](Question& q) { q.workload().prefix_load = GigabytesPerSecond(10); }},
    {Feature::kTransferredKvDtype, Nothing,
     [](Question& q) {
       if (q.scenario.disaggregation) q.scenario.disaggregation->deployment.kv_cache_dtype = Dtype::kFp8;
     }},
    {Feature::kNoPrompt, Nothing, [](Question& q) { q.workload().prompt_tokens = 0; }},
    {Feature::kSeveralDevices, Nothing, [](Question& q) { q.deployment().data_parallel = 2; }},
    {Feature::kSeveralSequences, [](Question& q) { q.workload().batch_size = 1; },
     [](Question& q) { q.workload().batch_size = 4; }},
    {Feature::kStepTokenLimit, Nothing, [](Question& q) { q.load().max_num_batched_tokens = 512; }},
    {Feature::kUnfusedElementwise, Nothing, [](Question& q) { q.deployment().unfused_elementwise = true; }},
    {Feature::kRooflineExponent, Nothing, [](Question& q) { q.deployment().roofline_exponent = 3; }},
    {Feature::kExpertExchange, ShareExperts,
     [](Question& q) { q.deployment().expert_exchange = ExpertExchange::kAllToAll; }},
    {Feature::kScaleOut, [](Question& q) { q.SpreadOverNodes(); },
     [](Question& q) { q.deployment().scale_out = GigabytesPerSecond(1); }},
    {Feature::kDevicesPerNode,
     [](Question& q) {
       if (!q.one_device()) q.Deploy([](Deployment& d) { d.tensor_parallel = 2; });
     },
     [](Question& q) { q.deployment().devices_per_node = 1; }},
    {Feature::kKvCacheWrittenBack, Nothing, [](Question& q) { q.workload().kv_cache_written_back = true; }},
    {Feature::kBatchingWindow, Nothing, [](Question& q) { q.workload().batching_window = Seconds(0.1); }},
    {Feature::kPromptSpread, Nothing, [](Question& q) { q.workload().prompt_spread_tokens = 100; }},
    {Feature::kOutputSpread, Nothing, [](Question& q) { q.workload().output_spread_tokens = 10; }},
    {Feature::kRequestsOfRun, [](Question& q) { q.workload().output_spread_tokens = 10; },
     [](Question& q) { q.workload().closed_loop_requests = 40; }},
    {Feature::kScheduler, Nothing, [](Question& q) { q.deployment().scheduler = SchedulerPolicy::kPrefillFirst; }},
    {Feature::kSlotLimit, Nothing, [](Question& q) { q.deployment().max_num_seqs = 2; }},
    {Feature::kPromptArrival, Nothing, [](Question& q) { q.workload().prompt_arrival_tokens_per_second = 100; }},
    {Feature::kPrefillChunk, Nothing,
     [](Question& q) { q.Deploy([](Deployment& d) { d.prefill_chunk_tokens = 256; }); }},
    {Feature::kPassesInFlight,
     [](Question& q) {
       if (q.one_device()) return;
       q.Deploy([](Deployment& d) { d.pipeline_parallel = 2, d.prefill_chunk_tokens = 256; });
     },
     [](Question& q) { q.Deploy([](Deployment& d) { d.prefill_passes_in_flight = 1; }); }},
    {Feature::kExpertParallelOfDenseModel, [](Question& q) { q.deployment().tensor_parallel = 2; },
     [](Question& q) { q.deployment().expert_parallel = 2; }},
    {Feature::kExpertExchangeUnshared,
     [](Question& q) {
       q.ShareExperts();
       if (!q.one_device()) q.Deploy([](Deployment& d) { d.data_parallel = 1, d.expert_parallel = 2; });
     },
     [](Question& q) { q.deployment().expert_exchange = ExpertExchange::kAllToAll; }},
    {Feature::kExpertLoadImbalance, ShareExperts, [](Question& q) { q.deployment().expert_load_imbalance = 1.5; }},
    {Feature::kExpertRouting, ShareExperts,
     [](Question& q) { q.workload().expert_routing = ExpertRouting::kIdenticalPrompts; }},
    {Feature::kEngine, Nothing, [](Question& q) { q.deployment().engine = kEngine; }},
    {Feature::kSequentialBatches,
     [](Question& q) { q.hardware.memory_capacity = Gigabytes(17.5); },  // not all four sequences
     [](Question& q) { q.workload().capacity_policy = CapacityPolicy::kWaves; }},
    {Feature::kKpiShares, Nothing, [](Question& q) { q.workload().compute_utilization = 0.5; }},
    {Feature::kPrice, Nothing, [](Question& q) { q.Deploy([](Deployment& d) { d.price_per_device_hour = 2; }); }},
    {Feature::kPrefixWithoutKvCache, [](Question& q) { q.workload().kv_cache_mode = KvCacheMode::kNone; },
     [](Question& q) { q.workload().cached_prefix_tokens = 500; }},
    {Feature::kWriteBackWithoutKvCache, [](Question& q) { q.workload().kv_cache_mode = KvCacheMode::kNone; },
     [](Question& q) { q.workload().kv_cache_written_back = true; }},
    {Feature::kMixtureOfExperts, Nothing, [](Question& q) { q.model = Mixtral8x7b(); }},
    {Feature::kSlidingWindow, Nothing,
     [](Question& q) { q.model.sliding_window = SlidingWindow{.window_tokens = 64}; }},
    {Feature::kRecurrence, Nothing,
     [](Question& q) {
       q.model.linear_attention = LinearAttention{.num_layers = 16,
                                                  .num_key_heads = 8,
                                                  .num_value_heads = 8,
                                                  .key_head_dim = 64,
                                                  .value_head_dim = 64,
                                                  .conv_kernel_size = 4};
     }},
    {Feature::kSparseAttention, Nothing,
     [](Question& q) {
       q.model = DeepseekV2Lite();
       q.model.sparse_attention = SparseAttention{
           .index_n_heads = 8, .index_head_dim = 64, .index_topk = 64, .num_indexer_layers = q.model.num_hidden_layers};
     }},
};

// A feature without a statement does not compile.
consteval bool StatementsAreInOrder() {
  for (size_t i = 0; i < coverage_rows::kFeatures; ++i) {
    if (kStatements[i].feature != static_cast<Feature>(i)) return false;
  }
  return true;
}
static_assert(std::size(kStatements) == coverage_rows::kFeatures && StatementsAreInOrder());

class CellTest : public testing::TestWithParam<Scope> {};

void ExpectRefused(const CoverageCell& cell, const absl::StatusOr<Estimate>& answer) {
  const RefusalDetail detail = DetailOf(answer.status());
  EXPECT_EQ(detail.reason, Reason::kNotModelled) << answer.status();
  ASSERT_EQ(detail.violations.size(), 1u);
  EXPECT_EQ(detail.violations[0].field, cell.field);
  const size_t number = cell.message.find("...");
  EXPECT_EQ(std::string(answer.status().message()).substr(0, number), cell.message.substr(0, number));
}

// `same_times`: nothing but the warning and the memory differs.
void ExpectIgnored(const CoverageCell& cell, absl::StatusOr<Estimate> without, absl::StatusOr<Estimate> with,
                   bool same_times) {
  ASSERT_TRUE(without.ok() && with.ok()) << without.status() << with.status();
  const Warning warning{WarningCode::kNotUsed, absl::StrReplaceAll(cell.message, {{"...", kEngine}}), cell.field};
  EXPECT_THAT(with->warnings, Contains(warning));
  EXPECT_THAT(without->warnings, Not(Contains(warning)));
  with->warnings.clear();
  without->warnings.clear();
  with->memory = without->memory;
  EXPECT_EQ(*with == *without, same_times);
}

bool AreEqual(const absl::StatusOr<Estimate>& a, const absl::StatusOr<Estimate>& b) {
  return a.ok() && b.ok() ? *a == *b : a.status() == b.status();
}

struct Answers {
  bool stated_before;  // the scope has the feature of itself
  absl::StatusOr<Estimate> without, with;
};

void Compare(Feature feature, const CoverageCell& cell, const Answers& a) {
  switch (cell.coverage) {
    case Coverage::kRefused:
      return ExpectRefused(cell, a.with);
    case Coverage::kIgnored: {
      // Another model has other times.
      const bool of_model = feature == Feature::kMixtureOfExperts || feature == Feature::kRecurrence ||
                            feature == Feature::kSparseAttention;
      return ExpectIgnored(cell, a.without, a.with, !of_model);
    }
    case Coverage::kUnused: {
      EXPECT_TRUE(AreEqual(a.without, a.with)) << a.with.status();
      return;
    }
    case Coverage::kModelled: {
      EXPECT_TRUE(a.with.ok()) << a.with.status();
      // The catalog chooses a calibration by the engine before the core model is asked.
      const bool compared = !a.stated_before && feature != Feature::kEngine;
      EXPECT_TRUE(!compared || !AreEqual(a.without, a.with));
      return;
    }
    case Coverage::kAsOperatorModel:
    case Coverage::kElsewhere:
      return;
  }
}

void CheckCell(Feature feature, Scope scope) {
  SCOPED_TRACE(testing::Message() << NameOf(feature) << ", " << NameOf(scope));
  const CoverageCell cell = CellOf(feature, scope);
  if (cell.coverage == Coverage::kElsewhere || cell.coverage == Coverage::kAsOperatorModel) return;
  const Statement& statement = kStatements[static_cast<size_t>(feature)];
  Question q(scope);
  Base(q);
  statement.prepare(q);
  const bool stated_before = States(q.scenario, feature);
  const absl::StatusOr<Estimate> without = q.Ask();
  statement.state(q);
  EXPECT_TRUE(States(q.scenario, feature));
  if (scope == Scope::kOutputRow) {
    EXPECT_EQ(Covers(q.scenario, scope), cell.coverage != Coverage::kRefused);
    return;
  }
  Compare(feature, cell, {stated_before, without, q.Ask()});
}

TEST_P(CellTest, IsWhatTheCoreModelDoes) {
  for (int i = 0; i < static_cast<int>(Feature::kEnd); ++i) CheckCell(static_cast<Feature>(i), GetParam());
}

INSTANTIATE_TEST_SUITE_P(Every, CellTest,
                         testing::Values(Scope::kStatic, Scope::kDynamic, Scope::kClosedLoop, Scope::kOpenLoop,
                                         Scope::kLiveLoad, Scope::kDisaggregatedBatches,
                                         Scope::kDisaggregatedContinuous, Scope::kSpeedOfLight, Scope::kOutputRow,
                                         Scope::kLinearProfile, Scope::kKpi));

TEST(CoverageTest, ThePolicyOfAScenario) {
  for (const Scope scope : {Scope::kStatic, Scope::kDynamic, Scope::kClosedLoop, Scope::kOpenLoop, Scope::kLiveLoad,
                            Scope::kDisaggregatedBatches, Scope::kDisaggregatedContinuous}) {
    Question q(scope);
    Base(q);
    EXPECT_EQ(NameOf(PolicyOf(q.scenario)), NameOf(scope));
  }
}

TEST(CoverageTest, TheFirstRefusedFeatureIsNamed) {
  Question q(Scope::kKpi);
  Base(q);
  q.Speculate();
  q.deployment().attention_kernel = AttentionKernel::kNaive;
  q.deployment().data_parallel = 2;
  EXPECT_EQ(DetailOf(q.Ask().status()).violations[0].field, "speculative_decoding");
}

TEST(CoverageTest, ThePageIsTheTable) {
  const std::string path = SourcePath("docs/model/coverage.md");
  const std::string page = CoverageAsMarkdown();
  if (std::getenv("FORETOKEN_UPDATE_DOCS") != nullptr) std::ofstream(path) << page;
  std::ostringstream committed;
  committed << std::ifstream(path).rdbuf();
  EXPECT_EQ(committed.str(), page) << "FORETOKEN_UPDATE_DOCS=1 writes the page anew";
}

}  // namespace
}  // namespace foretoken
