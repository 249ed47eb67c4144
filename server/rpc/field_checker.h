// Checks fields of one message and notes each violation under its path, so that a caller hears of all of them at once.
//
//   FieldChecker fields("workload.", violations);
//   workload.batch_size = fields.Int("batch_size", message.batch_size(), 1, 1'000'000);
//   // on 0 notes {"workload.batch_size", "batch_size 0; allowed 1 to 1000000"}
//
// Every check gives its value back, checked or not. Nothing is allocated while fields are good.
#ifndef FORETOKEN_SERVER_RPC_FIELD_CHECKER_H_
#define FORETOKEN_SERVER_RPC_FIELD_CHECKER_H_

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "estimator/errors.h"

namespace foretoken::rpc {

inline constexpr int kMaxInt = std::numeric_limits<int>::max();
// Tokens of one sequence.
inline constexpr int kMaxTokens = 100'000'000;

class FieldChecker {
 public:
  // `parent` is put before field names and ends in '.', or is empty. Both arguments outlive the checker.
  FieldChecker(std::string_view parent, std::vector<FieldViolation>& violations)
      : parent_(parent), violations_(violations) {}

  void Add(std::string_view field, std::string_view description);
  void Required(std::string_view field) { Add(field, std::string(field) + " is required"); }

  // An integer from `low` to `high`.
  int Int(std::string_view field, int value, int low, int high = kMaxInt);
  // A count of 0 or more, as the core model's double.
  double Count(std::string_view field, int64_t value);
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

 private:
  static constexpr double kLeast = 1e-12;
  static constexpr double kMost = 1e24;

  std::string_view parent_;
  std::vector<FieldViolation>& violations_;
};

}  // namespace foretoken::rpc

#endif  // FORETOKEN_SERVER_RPC_FIELD_CHECKER_H_
