#include <string>

#include "absl/strings/str_cat.h"
#include "estimator/scenario/parameters.h"
#include "server/catalog/spec/calibration_spec.h"
#include "server/catalog/spec/field_checker.h"
#include "server/catalog/spec/parse.h"

namespace foretoken::catalog {
namespace {

void ReadParameter(FieldChecker& checks, const std::string& path, const v1::CalibrationParameter& message,
                   Calibration& calibration) {
  const size_t place = FindParameter(message.name());
  if (place == Parameters().size()) {
    checks.Fault(path + ".name", absl::StrCat(" ", Quoted(message.name()), " is no parameter of the core model"));
    return;
  }
  const Parameter& parameter = Parameters()[place];
  Set(parameter, checks.Between(path + ".value", message.value(), parameter.low, parameter.high),
      calibration.efficiencies);
}

void ReadBand(FieldChecker& checks, const std::string& path, const v1::CalibrationBand& message,
              Calibration& calibration) {
  if (message.metric() < v1::LATENCY_METRIC_TTFT || message.metric() > v1::LATENCY_METRIC_E2E) {
    checks.Required(path + ".metric");
    return;
  }
  const double low = checks.Between(path + ".low_ratio", message.low_ratio(), kLeastFigure, 1e6);
  const double high = checks.Between(path + ".high_ratio", message.high_ratio(), kLeastFigure, 1e6);
  const double coverage = checks.Between(path + ".coverage", message.coverage(), kLeastFigure, 1);
  if (low > high) checks.Fault(path + ".low_ratio", " is above high_ratio");
  calibration.bands[message.metric() - v1::LATENCY_METRIC_TTFT] =
      BandRatio{.low = low, .high = high, .coverage = coverage};
}

bool CheckCounts(FieldChecker& checks, const v1::CalibrationSpec& spec) {
  constexpr int kMaxRejections = 100;  // kinds of reasons
  const bool parameters = checks.Size("parameters", spec.parameters_size(), static_cast<int>(Parameters().size()));
  const bool bands = checks.Size("bands", spec.bands_size(), kNumMetrics);
  checks.Size("errors", spec.errors_size(), kNumMetrics);
  checks.Size("rejected", spec.rejected_size(), kMaxRejections);
  return parameters && bands;
}

// Whose it is, and for which core model.
void CheckScope(FieldChecker& checks, const v1::CalibrationSpec& spec) {
  checks.Id("id", spec.id());
  if (!spec.hardware_id().empty()) checks.Id("hardware_id", spec.hardware_id());
  if (!spec.model_id().empty()) checks.Id("model_id", spec.model_id());
  if (!spec.model_id().empty() && spec.hardware_id().empty()) {
    checks.Fault("hardware_id", " is required beside model_id");
  }
  if (spec.level() != LevelOf(spec)) {
    checks.Fault("level",
                 absl::StrCat(" ", v1::CalibrationLevel_Name(spec.level()),
                              "; hardware_id, engine and model_id make it ", v1::CalibrationLevel_Name(LevelOf(spec))));
  }
  if (spec.model_version() != kModelVersion) {
    checks.Fault("model_version", absl::StrCat(" ", spec.model_version(), "; this core model is version ",
                                               kModelVersion, ": fit the measurements again"));
  }
}

}  // namespace

absl::StatusOr<Calibration> ParseCalibration(const v1::CalibrationSpec& spec) {
  std::vector<FieldViolation> violations;
  FieldChecker checks("", violations);
  CheckScope(checks, spec);
  Calibration calibration{.id = spec.id(),
                          .hardware_id = spec.hardware_id(),
                          .engine = spec.engine(),
                          .model_id = spec.model_id(),
                          .continuous = spec.continuous(),
                          .of_kernels = spec.kernels_used() > 0 && spec.samples_used() == 0,
                          .efficiencies = GenericPriorOf(spec.continuous())};
  calibration.degrees = {.tensor_parallel = checks.Int("max_tensor_parallel", spec.max_tensor_parallel(), 0),
                         .pipeline_parallel = checks.Int("max_pipeline_parallel", spec.max_pipeline_parallel(), 0)};
  calibration.efficiencies.weight_read_balance =
      checks.Between("max_vector_balance", spec.max_vector_balance(), 0, 1e6);
  if (spec.has_fit_time()) calibration.fit_time_unix_seconds = spec.fit_time().seconds();
  if (!CheckCounts(checks, spec)) return InvalidFields(violations);
  for (int i = 0; i < spec.parameters_size(); ++i) {
    ReadParameter(checks, absl::StrCat("parameters[", i, "]"), spec.parameters(i), calibration);
  }
  for (int i = 0; i < spec.bands_size(); ++i) {
    ReadBand(checks, absl::StrCat("bands[", i, "]"), spec.bands(i), calibration);
  }
  if (!violations.empty()) return InvalidFields(violations);
  return calibration;
}

}  // namespace foretoken::catalog
