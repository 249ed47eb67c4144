// Estimates in process: the same as a server's, with the same refusals.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "client/status_details.h"
#include "local/estimator.h"
#include "tests/paths.h"

namespace foretoken {
namespace {

using testing::Gt;
using testing::HasSubstr;
using testing::SizeIs;

v1::EstimateRequest Asked() {
  v1::EstimateRequest request;
  v1::Scenario& scenario = *request.mutable_scenario();
  scenario.set_model_id("llama-3.1-8b");
  scenario.set_hardware_id("nvidia-h100-sxm-80gb");
  scenario.mutable_workload()->set_prompt_tokens(2048);
  scenario.mutable_workload()->set_output_tokens(256);
  return request;
}

const LocalEstimator& Shipped() {
  static const auto& estimator = *new LocalEstimator(*LocalEstimator::Open());
  return estimator;
}

TEST(LocalEstimatorTest, AnswersOfTheCatalogThatShips) {
  v1::EstimateResponse reply;
  ASSERT_TRUE(Shipped().Estimate(Asked(), reply).ok());
  const v1::Estimate& estimate = reply.estimate();
  EXPECT_THAT(estimate.ttft().seconds(), Gt(0));
  EXPECT_NEAR(estimate.e2e().seconds(), estimate.ttft().seconds() + 255 * estimate.tpot().seconds(), 1e-9);
  EXPECT_THAT(reply.catalog_revision().bundle_digest(), SizeIs(64));
}

TEST(LocalEstimatorTest, AFolderGivesTheSame) {
  const absl::StatusOr<LocalEstimator> read = LocalEstimator::Open(SourcePath("catalogs"));
  ASSERT_TRUE(read.ok()) << read.status();
  v1::EstimateResponse shipped, of_folder;
  ASSERT_TRUE(Shipped().Estimate(Asked(), shipped).ok());
  ASSERT_TRUE(read->Estimate(Asked(), of_folder).ok());
  EXPECT_EQ(shipped.catalog_revision().bundle_digest(), of_folder.catalog_revision().bundle_digest());
  EXPECT_EQ(shipped.estimate().e2e().seconds(), of_folder.estimate().e2e().seconds());
  EXPECT_EQ(LocalEstimator::Open("/nowhere").status().code(), absl::StatusCode::kNotFound);
}

TEST(LocalEstimatorTest, ARefusalNamesItsFieldAndLeavesNothingOfTheLastAnswer) {
  v1::EstimateResponse reply;
  ASSERT_TRUE(Shipped().Estimate(Asked(), reply).ok());
  v1::EstimateRequest wrong = Asked();
  wrong.mutable_scenario()->mutable_deployment()->set_tensor_parallel(0);
  const absl::Status refused = Shipped().Estimate(wrong, reply);
  EXPECT_EQ(refused.code(), absl::StatusCode::kInvalidArgument);
  const client::ErrorDetails details = client::DetailsOf(refused);
  EXPECT_EQ(details.reason, "INVALID_FIELD");
  ASSERT_THAT(details.fields, SizeIs(1));
  EXPECT_EQ(details.fields[0].path, "scenario.deployment.tensor_parallel");
  EXPECT_THAT(details.fields[0].description, HasSubstr("allowed 1 to 1024"));
  EXPECT_FALSE(reply.estimate().has_ttft());
}

TEST(LocalEstimatorTest, CandidatesAreRanked) {
  v1::BatchEstimateRequest request;
  *request.mutable_base() = Asked().scenario();
  request.set_rank_by(v1::RANK_BY_TTFT);
  for (const char* hardware : {"nvidia-a100-sxm-80gb", "nvidia-h100-sxm-80gb", "nix"}) {
    request.add_candidates()->set_hardware_id(hardware);
  }
  v1::BatchEstimateResponse reply;
  ASSERT_TRUE(Shipped().BatchEstimate(request, reply).ok());
  EXPECT_THAT(reply.ranking(), testing::ElementsAre(1, 0, 2));
  EXPECT_TRUE(reply.results(2).has_status());
}

TEST(LocalEstimatorTest, ThreadsShareOne) {
  v1::EstimateResponse wanted;
  ASSERT_TRUE(Shipped().Estimate(Asked(), wanted).ok());
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&wanted, copy = Shipped()] {
      v1::EstimateResponse reply;
      for (int call = 0; call < 200; ++call) {
        EXPECT_TRUE(copy.Estimate(Asked(), reply).ok());
        EXPECT_EQ(reply.estimate().ttft().seconds(), wanted.estimate().ttft().seconds());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace foretoken
