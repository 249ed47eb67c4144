// Points of a row of output lengths are computed together; every figure has to have the bits of the same point alone.
// Outputs that fall instead of rising are computed one by one, so a sweep and its mirror image are compared.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "server/catalog/catalog.h"
#include "server/catalog/entries/embedded.h"
#include "server/catalog/store/memory_store.h"
#include "server/rpc/sweep/sweep_runner.h"

namespace foretoken::rpc {
namespace {

constexpr int kOutputs = 150;  // more than one block

struct Grid {
  std::vector<std::vector<double>> columns;
  std::vector<int> statuses, reasons, provenances;
  v1::SweepSummary summary;
};

// Adds a column that has a value a point, or one for all of them.
void Append(const google::protobuf::RepeatedField<int>& column, int points, std::vector<int>& out) {
  if (column.size() == 1) return static_cast<void>(out.insert(out.end(), static_cast<size_t>(points), column[0]));
  EXPECT_EQ(column.size(), points);
  out.insert(out.end(), column.begin(), column.end());
}

class SweepRowTest : public testing::Test {
 protected:
  SweepRowTest()
      : catalog_(*catalog::Catalog::Open(*catalog::LoadEmbeddedBundle(), std::make_unique<catalog::MemoryStore>(),
                                         [] { return absl::UnixEpoch(); })) {}

  Grid Run(const v1::SweepRequest& request) {
    absl::StatusOr<SweepPlan> plan = PlanSweep(request, catalog_->snapshot(), absl::UnixEpoch(), 1'000'000);
    Grid grid;
    EXPECT_TRUE(plan.ok()) << plan.status() << request.DebugString();
    if (!plan.ok()) return grid;
    SweepRunner runner(*std::move(plan));
    grid.columns.resize(static_cast<size_t>(request.metrics_size()));
    while (!runner.done()) {
      v1::SweepChunk chunk;
      EXPECT_TRUE(runner.NextChunk([] { return false; }, chunk));
      for (int i = 0; i < chunk.columns_size(); ++i) {
        const auto& values = chunk.columns(i).values();
        grid.columns[static_cast<size_t>(i)].insert(grid.columns[static_cast<size_t>(i)].end(), values.begin(),
                                                    values.end());
      }
      Append(chunk.statuses(), chunk.num_points(), grid.statuses);
      Append(chunk.reasons(), chunk.num_points(), grid.reasons);
      Append(chunk.provenances(), chunk.num_points(), grid.provenances);
    }
    grid.summary = runner.Summary();
    return grid;
  }

  // Two prompts and `outputs`, in all metrics.
  static v1::SweepRequest Sweep(const v1::Scenario& base, const std::vector<double>& outputs) {
    v1::SweepRequest request;
    *request.mutable_base() = base;
    v1::SweepAxis* prompts = request.add_axes();
    prompts->set_field("workload.prompt_tokens");
    prompts->mutable_numbers()->add_values(base.workload().prompt_tokens());
    prompts->mutable_numbers()->add_values(base.workload().prompt_tokens() * 2);
    v1::SweepAxis* axis = request.add_axes();
    axis->set_field("workload.output_tokens");
    axis->mutable_numbers()->mutable_values()->Assign(outputs.begin(), outputs.end());
    for (int metric = 1; metric <= v1::Metric_MAX; ++metric) request.add_metrics(static_cast<v1::Metric>(metric));
    return request;
  }

  v1::Scenario RandomScenario() {
    const auto pick = [this](auto... choices) {
      const auto list = {choices...};
      return *(list.begin() + static_cast<std::ptrdiff_t>(random_() % list.size()));
    };
    v1::Scenario s;
    s.set_model_id(pick("llama-3.1-70b", "llama-3.1-8b", "mixtral-8x7b", "deepseek-v2-lite", "gemma-2-9b",
                        "qwen3-30b-a3b", "falcon-40b", "llama-4-scout-17b-16e"));
    s.set_hardware_id(pick("nvidia-h100-sxm-80gb", "nvidia-a100-sxm-80gb", "amd-mi300x-192gb", "nvidia-l4-24gb"));
    v1::Deployment& d = *s.mutable_deployment();
    d.set_tensor_parallel(pick(1, 2, 4, 8, 16));
    d.set_pipeline_parallel(pick(1, 1, 1, 2, 4));
    d.set_data_parallel(pick(1, 1, 2));
    d.set_engine(pick("", "vllm", "tensorrt-llm", "llama.cpp"));
    d.set_roofline_exponent(pick(1.0, 2.0, 2.0, 2.0, 3.0, HUGE_VAL));
    d.set_attention_kernel(pick(v1::ATTENTION_KERNEL_FLASH, v1::ATTENTION_KERNEL_FLASH, v1::ATTENTION_KERNEL_NAIVE));
    if (pick(0, 1) == 1) d.set_prefill_chunk_tokens(512);
    if (pick(0, 1) == 1) d.set_price_per_device_hour(2.5);
    v1::Workload& w = *s.mutable_workload();
    w.set_batch_size(pick(1, 3, 16, 64, 300));
    w.set_prompt_tokens(pick(1, 20, 500, 4000, 30000));
    w.set_output_tokens(1);
    w.set_capacity_policy(pick(v1::CAPACITY_POLICY_REFUSE, v1::CAPACITY_POLICY_WAVES));
    w.set_kv_cache_mode(pick(v1::KV_CACHE_MODE_CACHED, v1::KV_CACHE_MODE_CACHED, v1::KV_CACHE_MODE_NONE));
    w.set_batching_policy(pick(v1::BATCHING_POLICY_STATIC, v1::BATCHING_POLICY_STATIC, v1::BATCHING_POLICY_CONTINUOUS));
    if (pick(0, 1) == 1) s.mutable_slo()->set_max_tpot_seconds(0.03);
    s.set_method(pick(v1::METHOD_UNSPECIFIED, v1::METHOD_UNSPECIFIED, v1::METHOD_SPEED_OF_LIGHT));
    return s;
  }

  std::vector<double> RisingOutputs() {
    std::vector<double> outputs;
    double output = 1;
    for (int i = 0; i < kOutputs; ++i) {
      outputs.push_back(output);
      output += 1 + static_cast<double>(random_() % (i < 20 ? 2 : 90));
    }
    return outputs;
  }

  std::unique_ptr<catalog::Catalog> catalog_;
  std::mt19937 random_{20240117};
};

TEST_F(SweepRowTest, EveryFigureHasTheBitsOfThePointAlone) {
  int estimates = 0;
  int refusals = 0;
  for (int round = 0; round < 400; ++round) {
    const v1::Scenario base = RandomScenario();
    const std::vector<double> outputs = RisingOutputs();
    const Grid together = Run(Sweep(base, outputs));
    const Grid alone = Run(Sweep(base, {outputs.rbegin(), outputs.rend()}));
    ASSERT_EQ(together.statuses.size(), 2 * kOutputs);
    for (int point = 0; point < 2 * kOutputs; ++point) {
      const int mirror = point / kOutputs * kOutputs + kOutputs - 1 - point % kOutputs;
      const auto at = [&](const std::vector<int>& column, int i) { return column[static_cast<size_t>(i)]; };
      ASSERT_EQ(at(together.statuses, point), at(alone.statuses, mirror)) << base.DebugString();
      ASSERT_EQ(at(together.reasons, point), at(alone.reasons, mirror));
      ASSERT_EQ(at(together.provenances, point), at(alone.provenances, mirror));
      ++(at(together.statuses, point) == 0 ? estimates : refusals);
      for (size_t metric = 0; metric < together.columns.size(); ++metric) {
        const double want = alone.columns[metric][static_cast<size_t>(mirror)];
        const double got = together.columns[metric][static_cast<size_t>(point)];
        ASSERT_EQ(std::memcmp(&want, &got, sizeof(want)), 0)
            << v1::Metric_Name(static_cast<v1::Metric>(metric + 1)) << " " << got << " for " << want << " at output "
            << outputs[static_cast<size_t>(point % kOutputs)] << " of " << base.DebugString();
      }
    }
    ASSERT_EQ(together.summary.ok_points(), alone.summary.ok_points());
    ASSERT_EQ(together.summary.frontier_points(), alone.summary.frontier_points());
    ASSERT_EQ(together.summary.best_under_slo().latency_seconds(), alone.summary.best_under_slo().latency_seconds());
  }
  EXPECT_GT(estimates, 10'000);
  EXPECT_GT(refusals, 10'000);
}

}  // namespace
}  // namespace foretoken::rpc
