// Collects what is wrong with a request, up to the number that a reply can hold: a request of megabytes can be wrong in
// millions of places, and each violation takes memory twice.
#ifndef FORETOKEN_ESTIMATOR_BASE_VIOLATIONS_H_
#define FORETOKEN_ESTIMATOR_BASE_VIOLATIONS_H_

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "estimator/base/errors.h"

namespace foretoken {

// More than a reply can hold. A list of this length stands for at least so many violations.
inline constexpr size_t kMaxViolations = 256;

// Adds a violation; past kMaxViolations nothing.
inline void AddViolation(std::string field, std::string description, std::vector<FieldViolation>& violations) {
  if (violations.size() < kMaxViolations) violations.push_back({std::move(field), std::move(description)});
}

// "at least " to put before a count of violations where the list is full, else "".
inline const char* AtLeast(const std::vector<FieldViolation>& violations) {
  return violations.size() < kMaxViolations ? "" : "at least ";
}

}  // namespace foretoken

#endif  // FORETOKEN_ESTIMATOR_BASE_VIOLATIONS_H_
