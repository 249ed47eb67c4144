#include "server/rpc/register/probes.h"

#include <cmath>
#include <vector>

#include "estimator/fit/fit.h"
#include "estimator/methods/estimator.h"
#include "server/catalog/spec/calibration_spec.h"

namespace foretoken::rpc {
namespace {

constexpr double kMoved = 0.05;

// Small and large, dense and mixture of experts. A model that the catalog lacks is skipped.
constexpr const char* kModels[] = {"llama-2-7b", "llama-3.1-8b", "llama-3.1-70b", "mixtral-8x7b", "qwen3-30b-a3b"};
constexpr int kTensorParallel[] = {1, 8};
struct Run {
  int batch_size, prompt_tokens, output_tokens;
};
constexpr Run kRuns[] = {{1, 128, 128}, {1, 4096, 256}, {16, 1024, 256}, {64, 512, 512}};

struct Probe {
  Scenario scenario;
  v1::MovedPrediction message;
};

Probe MakeProbe(const catalog::ModelRecord& model, const v1::CalibrationSpec& calibration, int tensor_parallel,
                const Run& run) {
  Probe probe;
  Scenario& scenario = probe.scenario;
  scenario.model = &model.model;
  scenario.deployment.engine = calibration.engine();
  scenario.deployment.tensor_parallel = tensor_parallel;
  ResolveDtypes(*scenario.model, scenario.deployment);
  scenario.workload = {
      .batch_size = run.batch_size, .prompt_tokens = run.prompt_tokens, .output_tokens = run.output_tokens};
  if (calibration.continuous()) scenario.workload.batching = BatchingPolicy::kContinuous;
  v1::MovedPrediction& message = probe.message;
  message.set_model_id(model.entry.spec().id());
  message.mutable_deployment()->set_engine(calibration.engine());
  message.mutable_deployment()->set_tensor_parallel(tensor_parallel);
  message.set_batch_size(run.batch_size);
  message.set_prompt_tokens(run.prompt_tokens);
  message.set_output_tokens(run.output_tokens);
  return probe;
}

std::vector<Probe> ProbesOf(const catalog::Snapshot& snapshot, const v1::CalibrationSpec& calibration) {
  std::vector<Probe> probes;
  for (const char* id : kModels) {
    const auto model = snapshot.FindModel(id, "");
    if (!model.ok()) continue;
    for (const int tensor_parallel : kTensorParallel) {
      for (const Run& run : kRuns) probes.push_back(MakeProbe(**model, calibration, tensor_parallel, run));
    }
  }
  return probes;
}

std::optional<Times> Ask(Scenario scenario, const Hardware& hardware, const catalog::Snapshot& snapshot) {
  scenario.hardware = &hardware;
  scenario.calibration = FindCalibration(hardware, hardware.id, snapshot.calibrations(), scenario.deployment.engine,
                                         scenario.model->id, IsContinuous(scenario));
  const absl::StatusOr<Estimate> estimate = ComputeEstimate(scenario);
  if (!estimate.ok()) return std::nullopt;
  return TimesOf(*estimate);
}

void Compare(const Probe& probe, const std::optional<Times>& before, const Times& after,
             v1::CalibrationReport& report) {
  for (int metric = 0; metric < kNumMetrics; ++metric) {
    report.set_num_probes(report.num_probes() + 1);
    if (before && std::abs(after[metric] / (*before)[metric] - 1) <= kMoved) continue;
    v1::MovedPrediction& moved = *report.add_moved();
    moved = probe.message;
    moved.set_metric(catalog::MetricOf(metric));
    if (before) moved.set_before_seconds((*before)[metric]);
    moved.set_after_seconds(after[metric]);
  }
}

}  // namespace

void CompareProbes(const catalog::Snapshot& snapshot, const Hardware* before, const Hardware& after,
                   v1::CalibrationReport& report) {
  Hardware figures = after;
  figures.calibrations.reset();
  figures.linear_profiles.clear();
  for (const v1::CalibrationSpec& calibration : report.calibrations()) {
    if (calibration.level() == v1::CALIBRATION_LEVEL_MODEL) continue;  // probed with its engine's
    for (const Probe& probe : ProbesOf(snapshot, calibration)) {
      const std::optional<Times> now = Ask(probe.scenario, after, snapshot);
      if (now) Compare(probe, Ask(probe.scenario, before != nullptr ? *before : figures, snapshot), *now, report);
    }
  }
}

}  // namespace foretoken::rpc
