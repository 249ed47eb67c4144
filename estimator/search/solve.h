// Finds the largest batch, request rate or prompt, or the smallest tensor parallelism, that still meets the SLO, and
// what the next value violates. A search over estimates: it uses none of their formulas.
//
//   absl::StatusOr<Solution> s = Solve(base, SolveFor::kBatchSize, {1, 1e6}, ComputeOne);
//   s->value      37, or nothing: no batch in the range does
//   s->binding    Constraint::kTpot: batch 38 misses it
//
// A value satisfies where it can be estimated and meets every bound of the base's SLO; without an SLO, where it fits in
// memory and is stable. The search tries powers of two times the smallest value, then bisects between the last of these
// that satisfies and the next: down to neighbours for whole values, to 1e-4 for a rate. It may miss values that satisfy
// above one that does not, between two powers. [ours]
#ifndef FORETOKEN_ESTIMATOR_SEARCH_SOLVE_H_
#define FORETOKEN_ESTIMATOR_SEARCH_SOLVE_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "estimator/scenario/estimate.h"
#include "estimator/scenario/scenario.h"

namespace foretoken {

// Same order and numbers as foretoken.v1.SolveFor and Constraint.
enum class SolveFor { kUnspecified, kBatchSize, kRequestRate, kPromptTokens, kTensorParallel, kHardware };
enum class Constraint { kUnspecified, kTtft, kTpot, kE2e, kMemory, kStability, kRange, kRefused, kItl };

struct SolveRange {
  double min = 1;
  double max = 1;
};

struct Solution {
  std::optional<double> value;       // absent: none satisfies
  std::optional<double> nearest;     // without a value: the one that misses the SLO least, of those estimated
  std::optional<Estimate> estimate;  // at the value, else at the nearest
  Constraint binding = Constraint::kUnspecified;
  std::string reason;  // for people: which bound the next value, or the nearest, misses
  int evaluations = 0;
};

// Why a value does not satisfy: the SLO bound that it misses most, or the reason of its refusal.
struct Failure {
  Constraint constraint = Constraint::kUnspecified;
  std::string what;
};

// Whether it could be estimated and misses no bound.
bool Satisfies(const absl::StatusOr<Estimate>& estimate);

// REQUIRES: !Satisfies(estimate). The SLO is that of its scenario.
Failure WhyNot(const std::optional<Slo>& slo, const absl::StatusOr<Estimate>& estimate);

// Degrees to try from min to max: powers of two and divisors of the attention heads, rising.
std::vector<int> TensorParallelChoices(int heads, const SolveRange& range);

using Evaluate = absl::FunctionRef<absl::StatusOr<Estimate>(const Scenario&)>;

// Largest batch size, request rate or prompt, or the smallest tensor parallelism.
//
// REQUIRES: a `what` of those four; 0 < range.min <= range.max, whole except for rates.
// Errors: a status of `evaluate` that is not a refusal, such as CANCELLED. Where no value in the range could be
// estimated, the first refusal, unless it is kOutOfMemory or kUnstableLoad: these are answers.
absl::StatusOr<Solution> Solve(const Scenario& base, SolveFor what, const SolveRange& range, Evaluate evaluate);

}  // namespace foretoken

#endif  // FORETOKEN_ESTIMATOR_SEARCH_SOLVE_H_
