// Notes what is wrong with a request as far as a caller is ever told of it: a request of megabytes can be wrong in
// millions of places, and each would take memory twice.
#ifndef FORETOKEN_ESTIMATOR_BASE_VIOLATIONS_H_
#define FORETOKEN_ESTIMATOR_BASE_VIOLATIONS_H_

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "estimator/base/errors.h"

namespace foretoken {

// More than a reply has room for. So many violations stand for "at least so many".
inline constexpr size_t kMaxViolations = 256;

// Adds a violation; past kMaxViolations nothing.
inline void AddViolation(std::string field, std::string description, std::vector<FieldViolation>& violations) {
  if (violations.size() < kMaxViolations) violations.push_back({std::move(field), std::move(description)});
}

// "" or "at least ": what stands before a count of what is left of `violations`.
inline const char* AtLeast(const std::vector<FieldViolation>& violations) {
  return violations.size() < kMaxViolations ? "" : "at least ";
}

}  // namespace foretoken

#endif  // FORETOKEN_ESTIMATOR_BASE_VIOLATIONS_H_
