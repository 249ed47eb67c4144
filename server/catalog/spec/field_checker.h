// Checks fields of one message and notes each violation under its path, so that a caller hears of all of them at once.
// A description says what was found and what is allowed.
//
//   FieldChecker fields("workload.", violations);
//   workload.batch_size = fields.Int("batch_size", message.batch_size(), 1, 1'000'000);
//   // on 0 notes {"workload.batch_size", "batch_size 0; allowed 1 to 1000000"}
//
// Every check gives its value back, checked or not. Nothing is allocated while fields are good.
#ifndef FORETOKEN_SERVER_CATALOG_SPEC_FIELD_CHECKER_H_
#define FORETOKEN_SERVER_CATALOG_SPEC_FIELD_CHECKER_H_

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "estimator/base/dtype.h"
#include "estimator/base/errors.h"
#include "foretoken/v1/dtype.pb.h"

namespace foretoken::catalog {

// Longest catalog id, characters.
inline constexpr size_t kMaxIdLength = 128;

// The least figure of a spec: what follows from smaller ones is not a number any more.
inline constexpr double kLeastFigure = 1e-9;

inline constexpr int kMaxInt = std::numeric_limits<int>::max();

// The start of what a caller sent, printable and in quotes: it may be megabytes of anything.
std::string Quoted(std::string_view text);

class FieldChecker {
 public:
  // `parent` is put before field names and ends in '.', or is empty. Both arguments outlive the checker.
  FieldChecker(std::string_view parent, std::vector<FieldViolation>& violations)
      : parent_(parent), violations_(violations) {}

  void Add(std::string_view field, std::string_view description);
  // Of a description that begins with the field: `fault` is the rest, as " 0; allowed 1 to 8".
  void Fault(std::string_view field, std::string_view fault);
  void Required(std::string_view field) { Fault(field, " is required"); }

  // An integer from `low` to `high`.
  int Int(std::string_view field, int value, int low, int high = kMaxInt);
  // A count from 0 to `high`, as the core model's double.
  double Count(std::string_view field, int64_t value, int64_t high);
  // A number from `low` to `high`.
  double Between(std::string_view field, double value, double low, double high);
  // A number above 0. Neither so small nor so large that what follows from it is not a number any more.
  double Positive(std::string_view field, double value) { return Between(field, value, kLeast, kMost); }
  // A number of at least 0, not larger than that.
  double NotNegative(std::string_view field, double value) { return Between(field, value, 0, kMost); }
  // A number above 0, as Positive, to 1.
  double Share(std::string_view field, double value) { return Between(field, value, kLeast, 1); }
  // A known enum value, 0 to `last`; 0 where it is not.
  int Enum(std::string_view field, int value, int last);
  foretoken::Dtype Dtype(std::string_view field, v1::Dtype value);
  // A catalog id: 1 to 128 lower-case letters, digits, '.' and '-', a letter or digit first and last.
  void Id(std::string_view field, std::string_view id);
  // Whether a list of `size` items has `most` at the most.
  bool Size(std::string_view field, int size, int most);

 private:
  static constexpr double kLeast = 1e-12;
  static constexpr double kMost = 1e24;

  std::string_view parent_;
  std::vector<FieldViolation>& violations_;
};

}  // namespace foretoken::catalog

#endif  // FORETOKEN_SERVER_CATALOG_SPEC_FIELD_CHECKER_H_
