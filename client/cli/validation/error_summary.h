// How far predictions are from measurements.
#ifndef FORETOKEN_CLIENT_CLI_VALIDATION_ERROR_SUMMARY_H_
#define FORETOKEN_CLIENT_CLI_VALIDATION_ERROR_SUMMARY_H_

#include <optional>
#include <vector>

namespace foretoken::cli {

// One metric of one measurement, measured and predicted.
struct Scored {
  double measured = 0;  // above 0
  double predicted = 0;
  std::optional<bool> in_band;  // whether the band contains the measured value; nothing: no band
};

// Errors are relative to the measured value; NaN if there are no scored measurements.
struct ErrorSummary {
  int rows = 0;
  double median_absolute = 0;  // median of |predicted - measured| / measured
  double mean_absolute = 0;    // mean of it
  double mean_bias = 0;        // mean of (predicted - measured) / measured: above 0, predictions are too slow
  double coverage = 0;         // share of bands that contain the measured value; NaN: no bands
};

// Of 0.8, 1.1, 1.3 against 1: errors -0.2, +0.1, +0.3: median 0.2, mean 0.2, bias 0.0667.
ErrorSummary Summarize(const std::vector<Scored>& rows);

// The mean over groups of each figure (rows: the sum). Groups whose figure is unknown are left out.
ErrorSummary MeanOver(const std::vector<ErrorSummary>& groups);

// The median; the mean of the middle two for an even count; NaN for none.
double Median(std::vector<double> values);

}  // namespace foretoken::cli

#endif  // FORETOKEN_CLIENT_CLI_VALIDATION_ERROR_SUMMARY_H_
