#include <gmock/gmock.h>

#include <cmath>

#include "tests/rpc/service_fixture.h"

namespace foretoken::rpc {
namespace {

using ::testing::ElementsAre;

// A sweep as received.
struct Received {
  grpc::Status status;
  v1::SweepHeader header;
  std::vector<v1::SweepChunk> chunks;
  v1::SweepSummary summary;

  std::vector<double> Column(v1::Metric metric) const {
    std::vector<double> values;
    for (const v1::SweepChunk& chunk : chunks) {
      for (const v1::SweepColumn& column : chunk.columns()) {
        if (column.metric() == metric) values.insert(values.end(), column.values().begin(), column.values().end());
      }
    }
    return values;
  }
};

class SweepTest : public ServiceTest {
 protected:
  Received Sweep(const v1::SweepRequest& request) {
    Received received;
    grpc::ClientContext context;
    const auto reader = estimator_->Sweep(&context, request);
    v1::SweepResponse message;
    while (reader->Read(&message)) {
      if (message.has_header()) received.header = message.header();
      if (message.has_chunk()) received.chunks.push_back(message.chunk());
      if (message.has_summary()) received.summary = message.summary();
    }
    received.status = reader->Finish();
    return received;
  }

  static void AddNumbers(const char* field, std::vector<double> values, v1::SweepRequest& request) {
    v1::SweepAxis& axis = *request.add_axes();
    axis.set_field(field);
    axis.mutable_numbers()->mutable_values()->Add(values.begin(), values.end());
  }
};

TEST_F(SweepTest, IsEveryEstimateInRowMajorOrder) {
  v1::SweepRequest request;
  *request.mutable_base() = Scenario(1, 100, 10);
  AddNumbers("workload.batch_size", {1, 8, 64}, request);
  AddNumbers("deployment.tensor_parallel", {1, 2}, request);
  v1::SweepAxis& hardware = *request.add_axes();
  hardware.set_field("hardware_id");
  hardware.mutable_texts()->add_values("nvidia-a100-sxm-80gb");
  hardware.mutable_texts()->add_values("nvidia-l4-24gb");
  request.add_metrics(v1::METRIC_E2E_SECONDS);
  const Received got = Sweep(request);
  ASSERT_TRUE(got.status.ok()) << got.status.error_message();
  EXPECT_EQ(got.header.total_points(), 12);
  ASSERT_EQ(got.chunks.size(), 1u);
  EXPECT_EQ(got.chunks[0].progress(), 1);
  std::vector<double> want;
  for (const int batch : {1, 8, 64}) {
    for (const int tp : {1, 2}) {
      for (const char* id : {"nvidia-a100-sxm-80gb", "nvidia-l4-24gb"}) {
        v1::Scenario scenario = Scenario(batch, 100, 10);
        scenario.set_hardware_id(id);
        scenario.mutable_deployment()->set_tensor_parallel(tp);
        v1::EstimateResponse response;
        ASSERT_TRUE(Estimate(scenario, &response).ok());
        want.push_back(response.estimate().e2e().seconds());
      }
    }
  }
  EXPECT_EQ(got.Column(v1::METRIC_E2E_SECONDS), want);
}

TEST_F(SweepTest, ARefusedPointCarriesItsReasonAndTheSweepGoesOn) {
  v1::SweepRequest request;
  *request.mutable_base() = Scenario(1, 100, 10);
  AddNumbers("workload.batch_size", {1, 1'000'000, 2}, request);
  request.set_max_error_details(1);
  const Received got = Sweep(request);
  ASSERT_TRUE(got.status.ok());
  EXPECT_THAT(got.chunks[0].statuses(), ElementsAre(0, grpc::FAILED_PRECONDITION, 0));
  EXPECT_THAT(got.chunks[0].reasons(), ElementsAre(0, v1::REASON_OUT_OF_MEMORY, 0));
  EXPECT_THAT(got.chunks[0].provenances(), ElementsAre(v1::PROVENANCE_DATASHEET, 0, v1::PROVENANCE_DATASHEET));
  EXPECT_TRUE(std::isnan(got.Column(v1::METRIC_TTFT_SECONDS)[1]));
  ASSERT_EQ(got.chunks[0].errors_size(), 1);
  EXPECT_EQ(got.chunks[0].errors(0).point(), 1);
  EXPECT_EQ(got.summary.ok_points(), 2);
  EXPECT_EQ(got.summary.refused_points(), 1);
}

TEST_F(SweepTest, WhatAllPointsOfAChunkHaveIsSaidOnce) {
  v1::SweepRequest request;
  *request.mutable_base() = Scenario(1, 100, 10);
  constexpr int kChunk = 1024;
  std::vector<double> batches(kChunk, 1);
  batches.insert(batches.end(), 2, 1'000'000);
  AddNumbers("workload.batch_size", batches, request);
  request.set_chunk_points(kChunk);
  const Received got = Sweep(request);
  ASSERT_EQ(got.chunks.size(), 2u);
  EXPECT_THAT(got.chunks[0].statuses(), ElementsAre(0));
  EXPECT_THAT(got.chunks[0].provenances(), ElementsAre(v1::PROVENANCE_DATASHEET));
  EXPECT_THAT(got.chunks[1].reasons(), ElementsAre(v1::REASON_OUT_OF_MEMORY));
  EXPECT_THAT(got.chunks[1].provenances(), ElementsAre(v1::PROVENANCE_UNSPECIFIED));
}

TEST_F(SweepTest, RangesAreSpelledOutAndChunked) {
  v1::SweepRequest request;
  *request.mutable_base() = Scenario(1, 100, 10);
  v1::SweepAxis& batch = *request.add_axes();
  batch.set_field("workload.batch_size");
  batch.mutable_logarithmic()->set_start(1);
  batch.mutable_logarithmic()->set_stop(8);
  batch.mutable_logarithmic()->set_count(10);  // 1, 1.26, ... rounded: repeats dropped
  v1::SweepAxis& prompt = *request.add_axes();
  prompt.set_field("workload.prompt_tokens");
  prompt.mutable_linear()->set_start(1);
  prompt.mutable_linear()->set_stop(1000);
  prompt.mutable_linear()->set_count(1000);
  request.set_chunk_points(1024);
  const Received got = Sweep(request);
  ASSERT_TRUE(got.status.ok()) << got.status.error_message();
  EXPECT_THAT(got.header.axes(0).numbers().values(), ElementsAre(1, 2, 3, 4, 5, 6, 8));
  EXPECT_EQ(got.header.total_points(), 7000);
  ASSERT_EQ(got.chunks.size(), 7u);
  EXPECT_EQ(got.chunks[0].num_points(), 1024);
  EXPECT_EQ(got.chunks[6].first_point(), 6 * 1024);
  EXPECT_EQ(got.chunks[6].num_points(), 7000 - 6 * 1024);
}

// Against the definition: a point is on the frontier if no other is at least as good in both and better in one.
TEST_F(SweepTest, TheFrontierIsWhatNoPointBeats) {
  v1::SweepRequest request;
  *request.mutable_base() = Scenario(1, 500, 50);
  request.mutable_base()->mutable_slo()->set_max_tpot_seconds(0.01);
  AddNumbers("workload.batch_size", {1, 2, 4, 8, 16, 32, 64, 128}, request);
  AddNumbers("deployment.tensor_parallel", {1, 2, 4, 8}, request);
  const Received got = Sweep(request);
  ASSERT_TRUE(got.status.ok());
  const std::vector<double> tpot = got.Column(v1::METRIC_TPOT_SECONDS);
  const std::vector<double> rate = got.Column(v1::METRIC_OUTPUT_TOKENS_PER_SECOND_PER_DEVICE);
  std::vector<int64_t> want;
  int64_t best = -1;
  for (size_t i = 0; i < tpot.size(); ++i) {
    bool beaten = false;
    for (size_t j = 0; j < tpot.size(); ++j) {
      beaten = beaten || (tpot[j] <= tpot[i] && rate[j] >= rate[i] && (tpot[j] < tpot[i] || rate[j] > rate[i]));
    }
    if (!beaten) want.push_back(static_cast<int64_t>(i));
    if (tpot[i] <= 0.01 && (best < 0 || rate[i] > rate[static_cast<size_t>(best)])) best = static_cast<int64_t>(i);
  }
  std::vector<int64_t> points;
  double before = 0;
  for (const v1::FrontierPoint& point : got.summary.frontier()) {
    points.push_back(point.point());
    EXPECT_GE(point.latency_seconds(), before);
    before = point.latency_seconds();
  }
  EXPECT_THAT(points, testing::UnorderedElementsAreArray(want));
  EXPECT_EQ(got.summary.best_under_slo().point(), best);
}

// The frontier's latency is the metric that was asked for: a larger batch is better by TPOT and worse by TTFT.
TEST_F(SweepTest, TheFrontierByTtftIsAnotherOne) {
  v1::SweepRequest request;
  *request.mutable_base() = Scenario(1, 500, 50);
  AddNumbers("workload.batch_size", {1, 8, 64}, request);
  AddNumbers("workload.prompt_tokens", {10, 1000}, request);
  AddNumbers("workload.output_tokens", {2, 50, 1000}, request);  // rises: computed a row at a time
  const auto frontier = [&](v1::FrontierMetric by, v1::Metric metric) {
    request.set_frontier_metric(by);
    const Received got = Sweep(request);
    const std::vector<double> latency = got.Column(metric);
    std::vector<int64_t> points;
    for (const v1::FrontierPoint& point : got.summary.frontier()) {
      EXPECT_EQ(point.latency_seconds(), latency[static_cast<size_t>(point.point())]) << v1::Metric_Name(metric);
      points.push_back(point.point());
    }
    return points;
  };
  const auto by_ttft = frontier(v1::FRONTIER_METRIC_TTFT, v1::METRIC_TTFT_SECONDS);
  const auto by_tpot = frontier(v1::FRONTIER_METRIC_TPOT, v1::METRIC_TPOT_SECONDS);
  EXPECT_NE(by_ttft, by_tpot);
  EXPECT_EQ(frontier(v1::FRONTIER_METRIC_UNSPECIFIED, v1::METRIC_TPOT_SECONDS), by_tpot);
  request.mutable_base()->mutable_slo()->set_max_tpot_seconds(1);  // each point is ranked by its whole estimate
  EXPECT_EQ(frontier(v1::FRONTIER_METRIC_TTFT, v1::METRIC_TTFT_SECONDS), by_ttft);
}

TEST_F(SweepTest, BadAxesAreRefusedBeforeAnyPoint) {
  struct Case {
    const char* name;
    std::vector<std::pair<const char*, std::vector<double>>> axes;
    const char* message;
  };
  const Case cases[] = {
      {"none", {}, "axes"},
      {"unknown field", {{"workload.batch", {1}}}, "workload.batch"},
      {"twice", {{"workload.batch_size", {1}}, {"workload.batch_size", {2}}}, "workload.batch_size"},
      {"no values", {{"workload.batch_size", {}}}, "allowed 1 or more"},
      {"not finite", {{"workload.batch_size", {NAN}}}, "nan on workload.batch_size"},
      {"too many points",
       {{"workload.batch_size", std::vector<double>(400, 1)}, {"workload.prompt_tokens", std::vector<double>(400, 1)}},
       "160000"},
  };
  for (const Case& c : cases) {
    v1::SweepRequest request;
    *request.mutable_base() = Scenario(1, 100, 10);
    for (const auto& [field, values] : c.axes) AddNumbers(field, values, request);
    const Received got = Sweep(request);
    EXPECT_EQ(got.status.error_code(), grpc::INVALID_ARGUMENT) << c.name;
    EXPECT_THAT(got.status.error_message(), testing::HasSubstr(c.message)) << c.name;
    EXPECT_FALSE(PartsOf(got.status).fields.empty()) << c.name;
    EXPECT_TRUE(got.chunks.empty());
  }
}

TEST_F(SweepTest, ACancelledSweepStops) {
  v1::SweepRequest request;
  *request.mutable_base() = Scenario(1, 100, 10);
  v1::SweepAxis& prompt = *request.add_axes();
  prompt.set_field("workload.prompt_tokens");
  prompt.mutable_linear()->set_start(1);
  prompt.mutable_linear()->set_stop(100'000);
  prompt.mutable_linear()->set_count(100'000);
  grpc::ClientContext context;
  const auto reader = estimator_->Sweep(&context, request);
  v1::SweepResponse message;
  ASSERT_TRUE(reader->Read(&message));
  ASSERT_TRUE(reader->Read(&message));
  context.TryCancel();
  int64_t points = message.chunk().num_points();
  while (reader->Read(&message)) points += message.chunk().num_points();
  EXPECT_EQ(reader->Finish().error_code(), grpc::CANCELLED);
  EXPECT_LT(points, 100'000);
}

}  // namespace
}  // namespace foretoken::rpc
