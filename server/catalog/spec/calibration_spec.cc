#include "server/catalog/spec/calibration_spec.h"

namespace foretoken::catalog {

v1::LatencyMetric MetricOf(int index) { return static_cast<v1::LatencyMetric>(v1::LATENCY_METRIC_TTFT + index); }

v1::CalibrationLevel LevelOf(const v1::CalibrationSpec& spec) {
  if (!spec.model_id().empty()) return v1::CALIBRATION_LEVEL_MODEL;
  if (!spec.hardware_id().empty()) return v1::CALIBRATION_LEVEL_HARDWARE;
  if (spec.engine().empty()) return v1::CALIBRATION_LEVEL_GENERIC;
  const bool versioned = spec.engine().find('@') != std::string::npos;
  return versioned ? v1::CALIBRATION_LEVEL_ENGINE_VERSION : v1::CALIBRATION_LEVEL_ENGINE;
}

bool AreOneFamily(const v1::CalibrationSpec& a, const v1::CalibrationSpec& b) {
  return a.hardware_id() == b.hardware_id() && a.engine() == b.engine() && a.continuous() == b.continuous();
}

void WriteParameter(const Parameter& parameter, const Efficiencies& prior, const Efficiencies& fitted,
                    ParameterDeviations deviations, v1::CalibrationSpec& spec) {
  v1::CalibrationParameter& message = *spec.add_parameters();
  message.set_name(std::string(parameter.name));
  message.set_unit(std::string(parameter.unit));
  message.set_value(Get(fitted, parameter));
  message.set_prior_value(Get(prior, parameter));
  message.set_prior_log_deviation(deviations.prior);
  message.set_posterior_log_deviation(deviations.posterior);
  message.set_identified(deviations.posterior <= kIdentified * deviations.prior);
}

void WriteParameters(const Efficiencies& prior, double freedom, const FitResult& fit, v1::CalibrationSpec& spec) {
  const Efficiencies& generic = GenericPriorOf(spec.continuous());
  for (size_t i = 0; i < Parameters().size(); ++i) {
    const Parameter& parameter = Parameters()[i];
    const double fitted = i < fit.log_deviations.size() ? fit.log_deviations[i] : 0;
    if (fitted == 0 && Get(fit.efficiencies, parameter) == Get(generic, parameter)) continue;
    const double deviation = freedom * parameter.log_deviation;
    WriteParameter(parameter, prior, fit.efficiencies, {deviation, fitted == 0 ? deviation : fitted}, spec);
  }
}

void WriteErrors(const std::array<MetricError, kNumMetrics>& errors, v1::CalibrationSpec& spec) {
  for (int metric = 0; metric < kNumMetrics; ++metric) {
    const MetricError& error = errors[metric];
    if (error.num_samples == 0) continue;
    v1::CalibrationError& message = *spec.add_errors();
    message.set_metric(MetricOf(metric));
    message.set_num_samples(error.num_samples);
    message.set_in_sample_median_ape(error.median_ape);
    message.set_in_sample_mean_ape(error.mean_ape);
    message.set_in_sample_bias(error.median_bias);
    if (error.cross_validated_median_ape) message.set_cross_validated_median_ape(*error.cross_validated_median_ape);
  }
}

void WriteBands(const Bands& bands, v1::CalibrationSpec& spec) {
  for (int metric = 0; metric < kNumMetrics; ++metric) {
    if (!bands[metric]) continue;
    v1::CalibrationBand& message = *spec.add_bands();
    message.set_metric(MetricOf(metric));
    message.set_low_ratio(bands[metric]->low);
    message.set_high_ratio(bands[metric]->high);
    message.set_coverage(bands[metric]->coverage);
  }
}

void WriteDegrees(const LargestDegrees& degrees, v1::CalibrationSpec& spec) {
  spec.set_max_tensor_parallel(degrees.tensor_parallel);
  spec.set_max_pipeline_parallel(degrees.pipeline_parallel);
}

}  // namespace foretoken::catalog
