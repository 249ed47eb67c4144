// docs/validation.md: what the errors were, where they are small and where they are not.
#ifndef FORETOKEN_TESTS_VALIDATION_PAGE_H_
#define FORETOKEN_TESTS_VALIDATION_PAGE_H_

#include <string>
#include <vector>

#include "tests/validation/errors.h"

namespace foretoken::validation {

// One way of leaving out.
struct Case {
  std::string name;  // "hardware and engine calibrated, model left out"
  std::string file;  // of its plots: "model_left_out"
  Predictions predictions;
  std::optional<BandRule> bands;  // those that ship
  bool pooled = false;            // scored over all rows alike
  bool detailed = true;           // with tables by hardware and engine, and plots
};

struct Study {
  std::vector<Case> cases;
  size_t used = 0;                    // rows that fits have seen
  size_t held_out = 0;                // rows that none has
  std::vector<std::string> rejected;  // a line each
  std::string findings;               // text that explains the tables
  std::string generic;                // the priors as fitted, a table
};

// The plots of a case: name of the file and what is in it.
std::vector<std::pair<std::string, std::string>> Plots(const Case& c);

std::string Page(const Study& study);

}  // namespace foretoken::validation

#endif  // FORETOKEN_TESTS_VALIDATION_PAGE_H_
