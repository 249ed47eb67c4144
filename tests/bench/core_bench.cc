// The core model alone: one estimate in process, from a parsed scenario to the full breakdown.
#include <benchmark/benchmark.h>

#include "estimator/methods/estimator.h"
#include "estimator/methods/operator_model.h"
#include "server/catalog/catalog.h"
#include "server/catalog/entries/embedded.h"
#include "server/catalog/store/memory_store.h"
#include "server/rpc/estimate/scenario_estimator.h"
#include "server/rpc/estimate/scenario_reader.h"
#include "tests/bench/scenarios.h"

namespace foretoken::bench {
namespace {

const catalog::Snapshot& BundledSnapshot() {
  static const auto& snapshot = *new std::shared_ptr<const catalog::Snapshot>([] {
    auto catalog = catalog::Catalog::Open(*catalog::LoadEmbeddedBundle(), std::make_unique<catalog::MemoryStore>(),
                                          [] { return absl::UnixEpoch(); });
    return (*catalog)->snapshot();
  }());
  return *snapshot;
}

void Estimate(benchmark::State& state, v1::Scenario message) {
  message.mutable_workload()->set_output_tokens(static_cast<int>(state.range(0)));
  rpc::ScenarioReader reader(BundledSnapshot(), absl::UnixEpoch());
  rpc::ScenarioEstimator estimator(reader, BundledSnapshot());
  reader.ReadAll(message, "");
  const Scenario& scenario = **estimator.scenario();
  StepModelMemo memo;
  foretoken::Estimate estimate;
  for (auto _ : state) benchmark::DoNotOptimize(ComputeEstimate(scenario, {}, memo, estimate));
}

// With what model, deployment and hardware decide, which callers keep where they can.
void EstimateAndDerive(benchmark::State& state, const v1::Scenario& message) {
  rpc::ScenarioReader reader(BundledSnapshot(), absl::UnixEpoch());
  rpc::ScenarioEstimator estimator(reader, BundledSnapshot());
  reader.ReadAll(message, "");
  const Scenario& scenario = **estimator.scenario();
  for (auto _ : state) benchmark::DoNotOptimize(ComputeEstimate(scenario));
}

// The argument is the number of output tokens: the cost must not grow with it.
BENCHMARK_CAPTURE(Estimate, dense, DenseScenario())->Arg(1)->Arg(256)->Arg(20'000);
BENCHMARK_CAPTURE(Estimate, moe, MoeScenario())->Arg(1)->Arg(256)->Arg(20'000);
BENCHMARK_CAPTURE(EstimateAndDerive, dense, DenseScenario());
BENCHMARK_CAPTURE(EstimateAndDerive, moe, MoeScenario());

}  // namespace
}  // namespace foretoken::bench
