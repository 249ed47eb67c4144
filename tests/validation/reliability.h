// Whether a probability of meeting an SLO holds: of the questions answered with 30%, were 30% of the measurements within
// their bound?
#ifndef FORETOKEN_TESTS_VALIDATION_RELIABILITY_H_
#define FORETOKEN_TESTS_VALIDATION_RELIABILITY_H_

#include <vector>

#include "tests/validation/errors.h"

namespace foretoken::validation {

// Questions whose probability lies in one part of 0 to 1.
struct ReliabilityBin {
  double probability = 0;  // their mean
  double met = 0;          // share of them whose measurement was within the bound
  int questions = 0;
};

// Asks of each prediction for bounds from a quarter to four times the predicted time, with a band that was made without
// what the row's fit had not seen. The bins are fifths of 0 to 1, in order; those without a question are left out.
// Groups (Row::Group) have equal weight.
std::vector<ReliabilityBin> ReliabilityOf(const Predictions& predictions, int metric, const BandRule& rule);

}  // namespace foretoken::validation

#endif  // FORETOKEN_TESTS_VALIDATION_RELIABILITY_H_
