#include "estimator/scenario/calibration.h"

#include <cmath>

#include "estimator/fit/fit.h"
#include "estimator/methods/estimator.h"
#include "estimator/scenario/parameters.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/estimator/fixtures.h"

namespace foretoken {
namespace {

Calibration Of(std::string hardware, std::string engine) {
  const std::string id = hardware + "." + engine;
  return {.id = id, .hardware_id = std::move(hardware), .engine = std::move(engine), .efficiencies = GenericPrior()};
}

std::string IdOf(const Calibration* calibration) { return calibration == nullptr ? "" : calibration->id; }

TEST(CalibrationsTest, FindsTheClosest) {
  std::vector<Calibration> all;
  all.push_back(Of("h100", "vllm@0.12.0"));
  all.push_back(Of("", "vllm@0.12.0"));
  all.push_back(Of("", "vllm@0.6.1"));
  all.push_back(Of("", "vllm"));
  all.push_back(Of("", "sglang"));
  const Calibrations calibrations(std::move(all));
  EXPECT_EQ(IdOf(calibrations.Find("h100", "vllm@0.12.0", "", false)), "h100.vllm@0.12.0");
  EXPECT_EQ(IdOf(calibrations.Find("a100", "vllm@0.12.0", "", false)), ".vllm@0.12.0");
  EXPECT_EQ(IdOf(calibrations.Find("", "vllm@0.12.0", "", false)), ".vllm@0.12.0");
  EXPECT_EQ(IdOf(calibrations.Find("h100", "vllm@0.7", "", false)), "h100.vllm@0.12.0");
  EXPECT_EQ(IdOf(calibrations.Find("h100", "vllm@main", "", false)), "h100.vllm@0.12.0");
  EXPECT_EQ(IdOf(calibrations.Find("h100", "vllm", "", false)), "h100.vllm@0.12.0");
  EXPECT_EQ(IdOf(calibrations.Find("a100", "vllm@0.11.2", "", false)), ".vllm@0.12.0");
  EXPECT_EQ(IdOf(calibrations.Find("a100", "vllm@0.7", "", false)), ".vllm@0.6.1");
  EXPECT_EQ(IdOf(calibrations.Find("a100", "vllm@main", "", false)), ".vllm");
  EXPECT_EQ(IdOf(calibrations.Find("a100", "vllm", "", false)), ".vllm");
  EXPECT_EQ(IdOf(calibrations.Find("h100", "sglang@0.5.1.post1", "", false)), ".sglang");
  EXPECT_EQ(IdOf(calibrations.Find("h100", "vllmx", "", false)), "");
  EXPECT_EQ(IdOf(calibrations.Find("h100", "", "", false)), "");
  EXPECT_EQ(IdOf(calibrations.Find("h100", "vllm", "", true)), "");
}

// Of a device a model may have its own; it goes with the version that was found.
TEST(CalibrationsTest, AModelOfItsOwnStandsBesideItsEngines) {
  std::vector<Calibration> all;
  for (const char* model : {"", "llama", "qwen"}) {
    for (const char* engine : {"vllm@0.12.0", "vllm@0.7.3"}) {
      if (std::string_view(model) == "qwen" && std::string_view(engine) == "vllm@0.7.3") continue;
      all.push_back(Of("h100", engine));
      all.back().id += model;
      all.back().model_id = model;
    }
  }
  const Calibrations calibrations(std::move(all));
  EXPECT_EQ(IdOf(calibrations.Find("h100", "vllm@0.12.0", "llama", false)), "h100.vllm@0.12.0llama");
  EXPECT_EQ(IdOf(calibrations.Find("h100", "vllm@0.12.0", "mistral", false)), "h100.vllm@0.12.0");
  EXPECT_EQ(IdOf(calibrations.Find("h100", "vllm@0.12.0", "", false)), "h100.vllm@0.12.0");
  EXPECT_EQ(IdOf(calibrations.Find("h100", "vllm@0.8", "llama", false)), "h100.vllm@0.7.3llama");
  EXPECT_EQ(IdOf(calibrations.Find("h100", "vllm@0.8", "qwen", false)), "h100.vllm@0.7.3");
  EXPECT_EQ(IdOf(calibrations.Find("a100", "vllm@0.12.0", "llama", false)), "");
}

// What no engine's calibration is of has the generic one of its kind.
TEST(CalibrationTest, TheGenericOneIsTheLast) {
  const Calibrations calibrations({Of("h100", "vllm"), Of("", "vllm"), Of("", "")});
  EXPECT_EQ(IdOf(calibrations.Find("a100", "sglang", "", false)), ".");
  EXPECT_EQ(IdOf(calibrations.Find("a100", "", "", false)), ".");
  EXPECT_EQ(IdOf(calibrations.Find("", "", "", false)), ".");
  EXPECT_EQ(IdOf(calibrations.Find("a100", "vllm", "", false)), ".vllm");
  EXPECT_EQ(IdOf(calibrations.Find("h100", "vllm", "", false)), "h100.vllm");
  EXPECT_EQ(IdOf(calibrations.Find("h100", "vllm", "", true)), "");
  EXPECT_EQ(calibrations.FindOf("a100", "vllm", "", false), nullptr);
}

TEST(CalibrationTest, AnswersWithItsBandsAndProvenance) {
  const Model model = Llama2_7b();
  const Hardware hardware = A100();
  Calibration calibration = Of("h100", "vllm");
  calibration.efficiencies.weight_read *= 0.5;
  calibration.bands[1] = BandRatio{.low = 0.9, .high = 1.2, .coverage = 0.8};
  Scenario scenario = MakeScenario(model, hardware, 1, 128, 64);
  const absl::StatusOr<Estimate> generic = ComputeEstimate(scenario);
  scenario.calibration = &calibration;
  const absl::StatusOr<Estimate> own = ComputeEstimate(scenario);
  ASSERT_TRUE(own.ok()) << own.status();
  EXPECT_EQ(own->calibration_id, "h100.vllm");
  EXPECT_EQ(own->decode.provenance, Provenance::kCalibrated);
  EXPECT_GT(own->tpot.time, generic->tpot.time);
  EXPECT_FALSE(own->ttft.band.has_value());
  ASSERT_TRUE(own->tpot.band.has_value());
  EXPECT_DOUBLE_EQ(own->tpot.band->low, 0.9 * own->tpot.time.value());
  EXPECT_DOUBLE_EQ(own->tpot.band->high, 1.2 * own->tpot.time.value());
  calibration.hardware_id.clear();
  EXPECT_EQ(ComputeEstimate(scenario)->decode.provenance, Provenance::kTransferred);
  calibration.engine.clear();
  EXPECT_EQ(ComputeEstimate(scenario)->decode.provenance, Provenance::kDatasheet);
  EXPECT_EQ(generic->decode.provenance, Provenance::kDatasheet);
}

// Samples that a known set of parameters made give predictions back, though single parameters may trade off.
TEST(FitTest, FindsTheParametersThatMadeTheSamples) {
  const Model model = Llama2_7b();
  const Hardware hardware = A100();
  Efficiencies truth = GenericPrior();
  truth.weight_read = 0.6;
  truth.layer_gap = Seconds(20e-6);
  std::vector<Sample> samples;
  for (const int batch : {1, 4, 16, 64}) {
    for (const int prompt : {128, 1024}) {
      Scenario scenario = MakeScenario(model, hardware, 1, 128, 64);
      scenario.workload.batch_size = batch;
      scenario.workload.prompt_tokens = prompt;
      scenario.workload.output_tokens = 64;
      const Times times = PredictTimes(scenario, truth);
      ASSERT_TRUE(std::isfinite(times[kTpot]));
      samples.push_back({.scenario = scenario, .measured = times});
    }
  }
  samples[0].measured[kE2e] *= 20;  // one wild sample does not steer it
  const FitResult fit = Fit(GenericPrior(), samples, {});
  for (size_t i = 1; i < samples.size(); ++i) {
    const Times predicted = PredictTimes(samples[i].scenario, fit.efficiencies);
    EXPECT_NEAR(predicted[kTpot] / samples[i].measured[kTpot], 1, 0.03) << i;
  }
  EXPECT_LT(fit.log_deviations[FindParameter("layer_gap")], Parameters()[FindParameter("layer_gap")].log_deviation);
}

// A port that nobody has tuned: matrices at a tenth of the parent's speed, 16 deviations away. A square would hold
// them back; the prior's tails let them go, and leave what the samples say nothing of.
TEST(FitTest, FollowsSamplesFarFromTheParent) {
  const Model model = Llama2_7b();
  const Hardware hardware = A100();
  Efficiencies truth = GenericPrior();
  truth.gemm /= 10;
  std::vector<Sample> samples;
  for (const int prompt : {512, 1024, 2048}) {
    const Scenario scenario = MakeScenario(model, hardware, 16, prompt, 1);
    samples.push_back({.scenario = scenario, .measured = PredictTimes(scenario, truth)});
  }
  const FitOptions narrow = {.freedom = 0.7};
  const FitResult fit = Fit(GenericPrior(), samples, narrow);
  EXPECT_NEAR(PredictTimes(samples[2].scenario, fit.efficiencies)[kTtft] / samples[2].measured[kTtft], 1, 0.1);
  const FitResult square = Fit(GenericPrior(), samples, {.freedom = 0.7, .tail = 1e6});
  EXPECT_LT(PredictTimes(samples[2].scenario, square.efficiencies)[kTtft] / samples[2].measured[kTtft], 0.7);
  EXPECT_NEAR(fit.efficiencies.link / GenericPrior().link, 1, 1e-6);
}

// Attention at the least share that it may have is told by samples whose prompts make it most of the prefill.
TEST(FitTest, ABoundIsTold) {
  const Model model = Llama2_7b();
  const Hardware hardware = A100();
  const Parameter& attention = Parameters()[FindParameter("prefill_attention_efficiency")];
  Efficiencies truth = GenericPrior();
  Set(attention, attention.low, truth);
  std::vector<Sample> samples;
  for (const int prompt : {1024, 2048, 4096}) {
    for (const int batch : {1, 2, 4}) {
      const Scenario scenario = MakeScenario(model, hardware, batch, prompt, 1);
      samples.push_back({.scenario = scenario, .measured = PredictTimes(scenario, truth)});
      for (double& time : samples.back().measured) time *= 1.2;  // slower than any share that is allowed
    }
  }
  const FitResult fit = Fit(GenericPrior(), samples, {});
  const size_t index = FindParameter("prefill_attention_efficiency");
  EXPECT_NEAR(Get(fit.efficiencies, attention), attention.low, 1e-9);
  EXPECT_LT(fit.log_deviations[index], kIdentified * attention.log_deviation);
}

TEST(FitTest, WithoutSamplesIsTheParent) {
  const FitResult fit = Fit(GenericPrior(), {}, {});
  for (const Parameter& parameter : Parameters()) {
    EXPECT_NEAR(Get(fit.efficiencies, parameter) / Get(GenericPrior(), parameter), 1, 1e-12) << parameter.name;
  }
}

// Twice the devices of any sample are near enough, but not two where each sample had one.
TEST(LargestDegreesTest, FarBeyondTheSamplesIsWarnedOf) {
  const Model model = Llama2_7b();
  const Hardware hardware = A100();
  const auto warned = [&](int largest, int tensor_parallel) {
    const Calibration calibration{
        .id = "c", .efficiencies = GenericPrior(), .degrees = {.tensor_parallel = largest, .pipeline_parallel = 1}};
    Scenario scenario = MakeScenario(model, hardware, 1, 100, 10);
    scenario.calibration = &calibration;
    scenario.deployment.tensor_parallel = tensor_parallel;
    const Estimate estimate = MustEstimate(scenario);
    return !estimate.warnings.empty() && estimate.warnings[0].code == WarningCode::kExtrapolated;
  };
  EXPECT_FALSE(warned(1, 1));
  EXPECT_TRUE(warned(1, 2));
  EXPECT_FALSE(warned(4, 8));
  EXPECT_TRUE(warned(4, 16));
  EXPECT_FALSE(warned(0, 16));  // not stated
}

// Of a prefill side under its own path, and once where it says what the decode side has said.
TEST(LargestDegreesTest, ThePrefillSideIsNamed) {
  const Model model = Llama2_7b();
  const Hardware hardware = A100();
  const Calibration calibration{
      .id = "c", .efficiencies = GenericPrior(), .degrees = {.tensor_parallel = 1, .pipeline_parallel = 1}};
  const auto fields = [&](int decode, int prefill) {
    Scenario scenario = MakeScenario(model, hardware, 1, 100, 10);
    scenario.calibration = &calibration;
    scenario.disaggregation =
        Disaggregation{.hardware = &hardware, .deployment = scenario.deployment, .transfer = GigabytesPerSecond(10)};
    scenario.deployment.tensor_parallel = decode;
    scenario.disaggregation->deployment.tensor_parallel = prefill;
    std::vector<std::string> of_warnings;
    for (const Warning& warning : MustEstimate(scenario).warnings) of_warnings.push_back(warning.field);
    return of_warnings;
  };
  using Fields = std::vector<std::string>;
  EXPECT_EQ(fields(1, 1), Fields());
  EXPECT_EQ(fields(1, 2), Fields({"disaggregated_prefill.deployment.tensor_parallel"}));
  EXPECT_EQ(fields(2, 2), Fields({"deployment.tensor_parallel"}));
}

}  // namespace
}  // namespace foretoken
