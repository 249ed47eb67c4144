// What the operator model refuses, and what it says then.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cctype>
#include <string>

#include "estimator/base/errors.h"
#include "estimator/methods/estimator.h"
#include "tests/estimator/fixtures.h"

namespace foretoken {
namespace {

using ::testing::HasSubstr;

TEST(OperatorModelTest, RefusesMoreStagesThanLayers) {
  const Model model = Llama2_7b();
  const Hardware hardware = A100();
  Scenario scenario = MakeScenario(model, hardware, 1, 100, 10);
  scenario.deployment.pipeline_parallel = 32;
  EXPECT_TRUE(ComputeEstimate(scenario).ok());
  scenario.deployment.pipeline_parallel = 33;
  const absl::Status refused = ComputeEstimate(scenario).status();
  EXPECT_THAT(std::string(refused.message()), HasSubstr("pipeline_parallel 33; allowed 1 to 32, the layers of"));
  EXPECT_EQ(DetailOf(refused).violations[0].field, "deployment.pipeline_parallel");
}

struct RefusalCase {
  const char* name;
  void (*change)(Scenario&, Model&, Hardware&);
  Reason reason;
  const char* field;
  const char* message;
};

class RefusalTest : public testing::TestWithParam<RefusalCase> {};

TEST_P(RefusalTest, NamesReasonAndField) {
  Model model = Llama2_7b();
  Hardware hardware = A100();
  Scenario scenario = MakeScenario(model, hardware, 8, 1024, 128);
  GetParam().change(scenario, model, hardware);
  const absl::Status status = ComputeEstimate(scenario).status();
  const RefusalDetail detail = DetailOf(status);
  EXPECT_EQ(detail.reason, GetParam().reason) << status;
  ASSERT_EQ(detail.violations.size(), 1u) << status;
  EXPECT_EQ(detail.violations[0].field, GetParam().field);
  EXPECT_THAT(std::string(status.message()), HasSubstr(GetParam().message));
}

INSTANTIATE_TEST_SUITE_P(
    All, RefusalTest,
    testing::Values(
        RefusalCase{"capacity", [](Scenario&, Model&, Hardware& h) { h.memory_capacity.reset(); },
                    Reason::kMissingFigure, "hardware_spec.memory_capacity_bytes", "states no memory_capacity_bytes"},
        RefusalCase{"bandwidth", [](Scenario&, Model&, Hardware& h) { h.memory_bandwidth.reset(); },
                    Reason::kMissingFigure, "hardware_spec.memory_bandwidth_bytes_per_second", "needed for"},
        RefusalCase{"peaks", [](Scenario&, Model&, Hardware& h) { h.peak = {}; }, Reason::kMissingFigure,
                    "hardware_spec.peak.bf16_flops_per_second", "computing in bf16"},
        RefusalCase{"link",
                    [](Scenario& s, Model&, Hardware& h) {
                      h.interconnect.reset();
                      s.deployment.tensor_parallel = 2;
                    },
                    Reason::kMissingFigure, "hardware_spec.interconnect_bytes_per_second", "tensor_parallel 2"},
        RefusalCase{"scale-out",
                    [](Scenario& s, Model&, Hardware& h) {
                      h.scale_out.reset();
                      s.deployment.tensor_parallel = 16;
                    },
                    Reason::kMissingFigure, "hardware_spec.scale_out_bytes_per_second", "16 devices at 8 per node"},
        RefusalCase{"memory", [](Scenario& s, Model&, Hardware&) { s.workload.batch_size = 1000; },
                    Reason::kOutOfMemory, "workload.batch_size", "smallest tensor_parallel that fits this batch: 16"},
        RefusalCase{"weights", [](Scenario&, Model&, Hardware& h) { h.memory_capacity = Gibibytes(8); },
                    Reason::kOutOfMemory, "workload.batch_size",
                    "largest batch_size that fits at tensor_parallel 1: 0"},
        RefusalCase{"unsupported", [](Scenario&, Model& m, Hardware&) { m.unsupported_reason = "hybrid layers"; },
                    Reason::kUnsupportedModel, "model_id", "hybrid layers"},
        RefusalCase{"live load at a rate",
                    [](Scenario& s, Model&, Hardware&) {
                      s.live_load = LiveLoad{.running_sequences = 1};
                      s.workload.batching = BatchingPolicy::kContinuous;
                      s.workload.request_rate_per_second = 1;
                    },
                    Reason::kNotModelled, "live_load", "these are steady states"},
        RefusalCase{"rate of static batches",
                    [](Scenario& s, Model&, Hardware&) { s.workload.request_rate_per_second = 1; },
                    Reason::kNotModelled, "workload.request_rate_per_second", "an arrival rate under static batching"},
        RefusalCase{"continuous without a cache",
                    [](Scenario& s, Model&, Hardware&) {
                      s.workload.batching = BatchingPolicy::kContinuous;
                      s.workload.kv_cache_mode = KvCacheMode::kNone;
                    },
                    Reason::kNotModelled, "workload.kv_cache_mode", "allowed: cached, prompt cache"}),
    [](const auto& info) {
      std::string name = info.param.name;
      for (char& c : name) c = std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
      return name;
    });

}  // namespace
}  // namespace foretoken
