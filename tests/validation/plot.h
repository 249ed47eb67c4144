// Predicted against measured times as a small SVG picture.
#ifndef FORETOKEN_TESTS_VALIDATION_PLOT_H_
#define FORETOKEN_TESTS_VALIDATION_PLOT_H_

#include <string>

#include "tests/validation/errors.h"

namespace foretoken::validation {

// A log-log scatter of one metric, a colour a device, with the diagonal and lines at 25% off. Empty: nothing measured.
std::string Scatter(const std::string& title, const Predictions& predictions, int metric);

}  // namespace foretoken::validation

#endif  // FORETOKEN_TESTS_VALIDATION_PLOT_H_
