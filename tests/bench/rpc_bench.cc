// Around the core model, without a socket: looking up, parsing, building replies, and the points of a sweep.
#include <benchmark/benchmark.h>

#include <array>

#include "google/protobuf/arena.h"
#include "server/catalog/catalog.h"
#include "server/catalog/entries/embedded.h"
#include "server/catalog/store/memory_store.h"
#include "server/rpc/estimate/estimator_api.h"
#include "server/rpc/estimate/scenario_estimator.h"
#include "server/rpc/estimate/scenario_reader.h"
#include "server/rpc/sweep/sweep_runner.h"
#include "tests/bench/scenarios.h"

namespace foretoken::bench {
namespace {

std::shared_ptr<const catalog::Snapshot> BundledSnapshot() {
  static const auto& catalog = *new std::unique_ptr<catalog::Catalog>(*catalog::Catalog::Open(
      *catalog::LoadEmbeddedBundle(), std::make_unique<catalog::MemoryStore>(), [] { return absl::UnixEpoch(); }));
  return catalog->snapshot();
}

void SnapshotLookup(benchmark::State& state) {
  const auto snapshot = BundledSnapshot();
  const v1::Scenario scenario = DenseScenario();
  for (auto _ : state) {
    benchmark::DoNotOptimize(snapshot->FindModel(scenario.model_id(), "model_id"));
    benchmark::DoNotOptimize(snapshot->FindHardware(scenario.hardware_id(), "hardware_id"));
  }
}
BENCHMARK(SnapshotLookup);

void RequestParse(benchmark::State& state) {
  const auto snapshot = BundledSnapshot();
  v1::EstimateRequest request;
  *request.mutable_scenario() = DenseScenario();
  const std::string bytes = request.SerializeAsString();
  for (auto _ : state) {
    v1::EstimateRequest parsed;
    parsed.ParseFromString(bytes);
    rpc::ScenarioReader reader(*snapshot, absl::UnixEpoch());
    rpc::ScenarioEstimator estimator(reader, *snapshot);
    reader.ReadAll(parsed.scenario(), "scenario.");
    benchmark::DoNotOptimize(estimator.scenario());
  }
}
BENCHMARK(RequestParse);

void Answer(benchmark::State& state, const v1::Scenario& scenario) {
  const auto snapshot = BundledSnapshot();
  v1::EstimateRequest request;
  *request.mutable_scenario() = scenario;
  std::array<char, 4096> block;
  for (auto _ : state) {
    google::protobuf::Arena arena(block.data(), block.size());  // as the service does
    auto* response = google::protobuf::Arena::CreateMessage<v1::EstimateResponse>(&arena);
    benchmark::DoNotOptimize(rpc::AnswerEstimate(request, {*snapshot, absl::UnixEpoch()}, *response));
  }
}
BENCHMARK_CAPTURE(Answer, dense, DenseScenario());
BENCHMARK_CAPTURE(Answer, moe, MoeScenario());

void ResponseSerialise(benchmark::State& state) {
  const auto snapshot = BundledSnapshot();
  v1::EstimateRequest request;
  *request.mutable_scenario() = DenseScenario();
  v1::EstimateResponse response;
  if (!rpc::AnswerEstimate(request, {*snapshot, absl::UnixEpoch()}, response).ok()) state.SkipWithError("refused");
  std::string bytes;
  for (auto _ : state) {
    response.SerializeToString(&bytes);
    benchmark::DoNotOptimize(bytes);
  }
}
BENCHMARK(ResponseSerialise);

void Batch(benchmark::State& state, const v1::BatchEstimateRequest& request) {
  const auto snapshot = BundledSnapshot();
  for (auto _ : state) {
    google::protobuf::Arena arena;
    auto* response = google::protobuf::Arena::CreateMessage<v1::BatchEstimateResponse>(&arena);
    benchmark::DoNotOptimize(rpc::AnswerBatch(
        request, {*snapshot, absl::UnixEpoch()}, [] { return false; }, *response));
  }
  state.SetItemsProcessed(state.iterations() * request.candidates_size());
}
BENCHMARK_CAPTURE(Batch, workloads, WorkloadCandidates(1000));
BENCHMARK_CAPTURE(Batch, live_loads, LiveLoadCandidates(1000));

void Sweep(benchmark::State& state, const v1::SweepRequest& request) {
  int64_t points = 0;
  for (auto _ : state) {
    rpc::SweepRunner runner(*rpc::PlanSweep(request, BundledSnapshot(), absl::UnixEpoch(), 10'000'000));
    v1::SweepChunk chunk;
    while (!runner.done()) runner.NextChunk([] { return false; }, chunk);
    benchmark::DoNotOptimize(runner.Summary());
    points += runner.points_done();
  }
  state.SetItemsProcessed(points);
}
v1::SweepRequest AllMetricsSweep() {
  v1::SweepRequest request = DenseSweep(100);
  request.clear_metrics();
  AddAllMetrics(request);
  return request;
}

// The output outermost: no row of the sweep shares anything.
v1::SweepRequest UnsharedSweep() {
  v1::SweepRequest request = DenseSweep(100);
  request.mutable_axes()->SwapElements(0, 2);
  return request;
}

BENCHMARK_CAPTURE(Sweep, dense, DenseSweep(100));
BENCHMARK_CAPTURE(Sweep, dense_all_metrics, AllMetricsSweep());
BENCHMARK_CAPTURE(Sweep, dense_unshared, UnsharedSweep());
BENCHMARK_CAPTURE(Sweep, mix, MixedSweep(100))->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace foretoken::bench
