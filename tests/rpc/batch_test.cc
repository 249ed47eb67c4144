// What a batch's candidates take from the base and what they replace, and how they are ranked.
#include <gmock/gmock.h>

#include <functional>
#include <set>
#include <string>

#include "tests/rpc/service_fixture.h"

namespace foretoken::rpc {
namespace {

using ::testing::ElementsAre;

class BatchTest : public ServiceTest {
 protected:
  v1::BatchEstimateResponse MustEstimateBatch(const v1::BatchEstimateRequest& request) {
    v1::BatchEstimateResponse response;
    grpc::ClientContext context;
    const grpc::Status status = estimator_->BatchEstimate(&context, request, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response;
  }

  // A base in which every part that a candidate may replace is set.
  static v1::Scenario FullBase() {
    v1::Scenario base = Scenario(2, 1000, 50);
    base.mutable_deployment()->set_tensor_parallel(2);
    base.mutable_live_load()->set_running_sequences(3);
    base.mutable_slo()->set_max_tpot_seconds(1);
    return base;
  }
};

struct Replacement {
  const char* field;
  std::function<void(v1::Candidate&)> set;
};

// One for each field of a candidate that replaces a part.
std::vector<Replacement> Replacements() {
  return {
      {"hardware_id", [](auto& c) { c.set_hardware_id("nvidia-a100-sxm-80gb"); }},
      {"hardware_spec",
       [](auto& c) {
         v1::HardwareSpec& spec = *c.mutable_hardware_spec();
         spec.set_memory_capacity_bytes(80'000'000'000);
         spec.set_memory_bandwidth_bytes_per_second(1e12);
         spec.mutable_peak()->set_bf16_flops_per_second(1e14);
         spec.set_interconnect_bytes_per_second(1e11);
       }},
      {"deployment", [](auto& c) { c.mutable_deployment()->set_tensor_parallel(8); }},
      {"workload",
       [](auto& c) {
         c.mutable_workload()->set_prompt_tokens(7);
         c.mutable_workload()->set_output_tokens(8);
       }},
      {"live_load", [](auto& c) { c.mutable_live_load()->set_running_sequences(100); }},
      {"slo", [](auto& c) { c.mutable_slo()->set_max_tpot_seconds(1e-6); }},
  };
}

TEST_F(BatchTest, EveryPartOfACandidateIsReplacedOnce) {
  std::set<std::string> fields;
  const google::protobuf::Descriptor& candidate = *v1::Candidate::descriptor();
  for (int i = 0; i < candidate.field_count(); ++i) fields.insert(candidate.field(i)->name());
  fields.erase("candidate_id");
  for (const Replacement& replacement : Replacements()) EXPECT_EQ(fields.erase(replacement.field), 1u);
  EXPECT_TRUE(fields.empty()) << *fields.begin() << " needs a replacement in this test";
}

// Candidate #0 replaces a part, #1 sets nothing: #1 is the base, whatever #0 was. Over a base that has the part, and
// over one that leaves it absent where it may be absent.
// Beside a replica with a live load, one that is idle batches continuously too: a static batch is another regime, with
// another calibration.
TEST_F(BatchTest, AnIdleReplicaBesideALoadedOneServesAsItDoes) {
  v1::BatchEstimateRequest request;
  *request.mutable_base() = Scenario(1, 1000, 50);
  request.mutable_base()->mutable_deployment()->set_engine("vllm");
  request.add_candidates();
  request.add_candidates()->mutable_live_load()->set_running_sequences(0);
  request.add_candidates()->mutable_live_load()->set_running_sequences(1);
  request.add_candidates();
  request.set_rank_by(v1::RANK_BY_TTFT);
  const v1::BatchEstimateResponse response = MustEstimateBatch(request);
  v1::Scenario idle = request.base();
  idle.mutable_workload()->set_batching_policy(v1::BATCHING_POLICY_CONTINUOUS);
  v1::EstimateResponse alone;
  ASSERT_TRUE(Estimate(idle, &alone).ok());
  for (const int i : {0, 1, 3}) {
    EXPECT_EQ(response.results(i).estimate().ttft().seconds(), alone.estimate().ttft().seconds()) << i;
    EXPECT_EQ(response.results(i).estimate().calibration_id(), alone.estimate().calibration_id()) << i;
  }
  EXPECT_EQ(response.results(2).estimate().calibration_id(), alone.estimate().calibration_id());
  EXPECT_THAT(response.ranking(), ElementsAre(0, 1, 3, 2));
  // Without any load all are static batches, as they are asked alone.
  request.mutable_candidates()->DeleteSubrange(1, 2);
  ASSERT_TRUE(Estimate(request.base(), &alone).ok());
  EXPECT_EQ(MustEstimateBatch(request).results(0).estimate().ttft().seconds(), alone.estimate().ttft().seconds());
}

TEST_F(BatchTest, ACandidateThatSetsNothingIsTheBase) {
  for (const v1::Scenario& base : {FullBase(), Scenario(2, 1000, 50)}) {
    v1::EstimateResponse alone;
    ASSERT_TRUE(Estimate(base, &alone).ok());
    for (const Replacement& replacement : Replacements()) {
      v1::BatchEstimateRequest request;
      *request.mutable_base() = base;
      replacement.set(*request.add_candidates());
      request.add_candidates();
      // Beside a load, an idle one is another: AnIdleReplicaBesideALoadedOneServesAsItDoes.
      if (request.candidates(0).has_live_load() && !base.has_live_load()) continue;
      const v1::BatchEstimateResponse response = MustEstimateBatch(request);
      ASSERT_EQ(response.results_size(), 2);
      EXPECT_EQ(response.results(1).estimate().SerializeAsString(), alone.estimate().SerializeAsString())
          << "after a candidate with its own " << replacement.field;
      EXPECT_NE(response.results(0).estimate().SerializeAsString(), alone.estimate().SerializeAsString())
          << replacement.field << " of a candidate changes nothing";
    }
  }
}

// A candidate's refusal names its own index, also past the hundredth, where the path outgrows a short string.
TEST_F(BatchTest, ACandidatesRefusalNamesItsField) {
  v1::BatchEstimateRequest request;
  *request.mutable_base() = Scenario(1, 100, 10);
  for (int i = 0; i < 103; ++i) request.add_candidates();
  for (const int i : {7, 101}) request.mutable_candidates(i)->mutable_deployment()->set_tensor_parallel(0);
  const v1::BatchEstimateResponse response = MustEstimateBatch(request);
  for (const int i : {7, 101}) {
    google::rpc::BadRequest bad;
    for (const auto& detail : response.results(i).status().details()) detail.UnpackTo(&bad);
    ASSERT_EQ(bad.field_violations_size(), 1) << i;
    EXPECT_EQ(bad.field_violations(0).field(), "candidates[" + std::to_string(i) + "].deployment.tensor_parallel");
  }
  EXPECT_TRUE(response.results(102).has_estimate());
}

// Candidates whose orders by TTFT, TPOT, E2E and headroom all differ. The last two have no headroom and no estimate.
TEST_F(BatchTest, EachRankingHasAnOrderOfItsOwn) {
  v1::BatchEstimateRequest request;
  *request.mutable_base() = Scenario(1, 100, 10);
  const auto add = [&request](int batch, int prompt, int output, double max_tpot) {
    v1::Candidate& candidate = *request.add_candidates();
    candidate.mutable_workload()->set_batch_size(batch);
    candidate.mutable_workload()->set_prompt_tokens(prompt);
    candidate.mutable_workload()->set_output_tokens(output);
    if (max_tpot > 0) candidate.mutable_slo()->set_max_tpot_seconds(max_tpot);
  };
  add(1, 16000, 2, 0.02);    // #0: a long prompt and a short output
  add(1, 100, 1000, 0.009);  // #1: a short prompt, a long output, the least headroom
  add(64, 500, 100, 1);      // #2: the largest batch, the most headroom
  add(1, 100, 300, 0);       // #3: no SLO
  add(0, 1, 1, 0);           // #4: refused
  const auto by = [&](v1::RankBy rank_by) {
    request.set_rank_by(rank_by);
    const auto response = MustEstimateBatch(request);
    return std::vector<int>(response.ranking().begin(), response.ranking().end());
  };
  EXPECT_THAT(by(v1::RANK_BY_TTFT), ElementsAre(1, 3, 0, 2, 4));
  EXPECT_THAT(by(v1::RANK_BY_TPOT), ElementsAre(3, 1, 0, 2, 4));
  EXPECT_THAT(by(v1::RANK_BY_E2E), ElementsAre(0, 2, 3, 1, 4));
  EXPECT_THAT(by(v1::RANK_BY_SLO_HEADROOM), ElementsAre(2, 0, 1, 3, 4));
  EXPECT_THAT(by(v1::RANK_BY_SLO_PROBABILITY), ElementsAre(2, 0, 1, 3, 4));
}

}  // namespace
}  // namespace foretoken::rpc
