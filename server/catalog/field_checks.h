// Collects everything that is wrong with a message, so that a caller learns of all faults at once. Every description
// begins with the field's path and says what was found and what is allowed: "hidden_size 0; allowed 1 to 1048576".
//
//   FieldChecks checks;
//   const int layers = checks.Int("num_hidden_layers", spec.num_hidden_layers(), 1, 10'000);
//   if (!checks.ok()) return checks.status();
//
// Not thread-safe.
#ifndef FORETOKEN_SERVER_CATALOG_FIELD_CHECKS_H_
#define FORETOKEN_SERVER_CATALOG_FIELD_CHECKS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "estimator/dtype.h"
#include "estimator/errors.h"
#include "foretoken/v1/dtype.pb.h"

namespace foretoken::catalog {

// Longest catalog id, characters.
inline constexpr size_t kMaxIdLength = 128;

// The start of what a caller sent, printable and in quotes: it may be megabytes of anything.
std::string Quoted(std::string_view text);

class FieldChecks {
 public:
  // `fault` is what stands after the path: " 0; allowed 1 to 8", " is required".
  void Add(std::string_view field, std::string_view fault);

  // Each returns the value it was given, in range or not.
  int Int(std::string_view field, int value, int min, int max);
  double AtLeast(std::string_view field, double value, double min, double max);
  // Above 0 (at least 1e-9), at most `max`.
  double Positive(std::string_view field, double value, double max);
  // A catalog id: 1 to 128 lower-case letters, digits, '.' and '-', a letter or digit first and last.
  void Id(std::string_view field, std::string_view id);
  // An enum value that this version knows. `known` is the generated X_IsValid(value).
  void Known(std::string_view field, int value, bool known);
  // A dtype of the API as the core model's. An unknown value is a fault and comes back as kUnspecified.
  foretoken::Dtype Dtype(std::string_view field, v1::Dtype value);

  // OK, or kInvalidField with every fault.
  absl::Status status() const { return InvalidFields(violations_); }
  bool ok() const { return violations_.empty(); }

 private:
  std::vector<FieldViolation> violations_;
};

}  // namespace foretoken::catalog

#endif  // FORETOKEN_SERVER_CATALOG_FIELD_CHECKS_H_
