// A fit as the API shows it: the other direction of ParseCalibration.
#ifndef FORETOKEN_SERVER_CATALOG_CALIBRATION_SPEC_H_
#define FORETOKEN_SERVER_CATALOG_CALIBRATION_SPEC_H_

#include <array>
#include <optional>
#include <string>

#include "estimator/calibration/hardware_fit.h"
#include "foretoken/v1/calibration.pb.h"

namespace foretoken::catalog {

// The metric at an index of Times.
v1::LatencyMetric MetricOf(int index);

// What a calibration of this hardware (empty: any) and engine is for.
v1::CalibrationLevel LevelOf(const std::string& hardware_id, const std::string& engine);

// Every parameter beside the prior that it was drawn to, with `freedom` times the parameters' deviations.
void WriteParameters(const Efficiencies& prior, double freedom, const FitResult& fit, v1::CalibrationSpec& spec);

// Of the metrics that have samples.
void WriteErrors(const std::array<MetricError, kNumMetrics>& errors, v1::CalibrationSpec& spec);

// Of the metrics that have one.
void WriteBands(const std::array<std::optional<BandRatio>, kNumMetrics>& bands, v1::CalibrationSpec& spec);

}  // namespace foretoken::catalog

#endif  // FORETOKEN_SERVER_CATALOG_CALIBRATION_SPEC_H_
