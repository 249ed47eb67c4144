// What a run of tests/validation/run found, as the files that report.py reads.
#ifndef FORETOKEN_TESTS_VALIDATION_STUDY_H_
#define FORETOKEN_TESTS_VALIDATION_STUDY_H_

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tests/validation/errors.h"

namespace foretoken::validation {

// One way to leave measurements out of the fits.
struct Case {
  std::string name;  // "model_left_out"; report.py says what it means
  Predictions predictions;
  std::optional<BandRule> bands;  // the rule of the bands that ship
  bool plotted = true;
};

// File name and content of each scatter plot of a case.
std::vector<std::pair<std::string, std::string>> Plots(const Case& c);

// CSV, one line a prediction: the case, the measurement and its file and line, measured and predicted seconds.
std::string PredictionsCsv(const std::vector<Case>& cases);

// CSV, one line for each case with bands and each metric: the share of measurements inside the band, tested by leaving
// out, and the limits of the band that ships. Blank: too few measurements to test, or no band ships.
std::string BandsCsv(const std::vector<Case>& cases);

// CSV, one line for each case with bands, each metric and each part of the probabilities: their mean, and the share of
// measurements within the bound, in percent.
std::string ReliabilityCsv(const std::vector<Case>& cases);

}  // namespace foretoken::validation

#endif  // FORETOKEN_TESTS_VALIDATION_STUDY_H_
