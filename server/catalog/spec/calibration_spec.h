// A fit as the API shows it: the other direction of ParseCalibration.
#ifndef FORETOKEN_SERVER_CATALOG_SPEC_CALIBRATION_SPEC_H_
#define FORETOKEN_SERVER_CATALOG_SPEC_CALIBRATION_SPEC_H_

#include <algorithm>
#include <array>

#include "estimator/fit/hardware_fit.h"
#include "estimator/scenario/parameters.h"
#include "foretoken/v1/calibration.pb.h"

namespace foretoken::catalog {

// The metric at an index of Times.
v1::LatencyMetric MetricOf(int index);

// What a calibration of this hardware, engine and model is for; empty: any.
v1::CalibrationLevel LevelOf(const v1::CalibrationSpec& spec);

// Whether two are of the same hardware, engine and way of batching, whatever the model.
bool AreOneFamily(const v1::CalibrationSpec& a, const v1::CalibrationSpec& b);

// Whether a calibration of a single model has the one beside it that answers for all others.
template <typename Specs>
bool HasItsFamily(const v1::CalibrationSpec& spec, const Specs& all) {
  return spec.model_id().empty() || std::any_of(all.begin(), all.end(), [&](const v1::CalibrationSpec& other) {
           return other.model_id().empty() && AreOneFamily(spec, other);
         });
}

// Of a parameter, in its logarithm.
struct ParameterDeviations {
  double prior = 0, posterior = 0;
};

// Adds one parameter: its value in `fitted`, and what it was drawn to.
void WriteParameter(const Parameter& parameter, const Efficiencies& prior, const Efficiencies& fitted,
                    ParameterDeviations deviations, v1::CalibrationSpec& spec);

// Every parameter that was fitted or is not the generic prior's, beside the prior that it was drawn to, with `freedom`
// times the parameters' deviations. `fit`: deviations by Parameters(), or of the first of them; 0: not fitted.
void WriteParameters(const Efficiencies& prior, double freedom, const FitResult& fit, v1::CalibrationSpec& spec);

// Of the metrics that have samples.
void WriteErrors(const std::array<MetricError, kNumMetrics>& errors, v1::CalibrationSpec& spec);

// Of the metrics that have one.
void WriteBands(const Bands& bands, v1::CalibrationSpec& spec);

void WriteDegrees(const LargestDegrees& degrees, v1::CalibrationSpec& spec);

}  // namespace foretoken::catalog

#endif  // FORETOKEN_SERVER_CATALOG_SPEC_CALIBRATION_SPEC_H_
