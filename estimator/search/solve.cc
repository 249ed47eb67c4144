#include "estimator/search/solve.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "estimator/base/errors.h"
#include "estimator/methods/slo.h"

namespace foretoken {
namespace {

constexpr double kRateResolution = 1e-4;

struct Variable {
  const char* name;
  bool whole;
  void (*set)(double value, Scenario& scenario);
};

Variable VariableOf(SolveFor what) {
  switch (what) {
    case SolveFor::kRequestRate:
      return {"request_rate_per_second", false,
              [](double value, Scenario& s) { s.workload.request_rate_per_second = value; }};
    case SolveFor::kPromptTokens:
      return {"prompt_tokens", true,
              [](double value, Scenario& s) { s.workload.prompt_tokens = static_cast<int>(value); }};
    case SolveFor::kTensorParallel:
      return {"tensor_parallel", true, [](double value, Scenario& s) {
                s.deployment.tensor_parallel = static_cast<int>(value);
                if (!s.disaggregation || !s.disaggregation->follows) return;
                s.disaggregation->deployment.tensor_parallel = s.deployment.tensor_parallel;
              }};
    default:
      return {"batch_size", true, [](double value, Scenario& s) { s.workload.batch_size = static_cast<int>(value); }};
  }
}

// Whether another value may be within the limit that this one exceeds.
bool DependsOnValue(const absl::Status& status) {
  const Reason reason = DetailOf(status).reason;
  return reason == Reason::kOutOfMemory || reason == Reason::kUnstableLoad;
}

// One value and its estimate.
struct Attempt {
  double value = 0;
  absl::StatusOr<Estimate> estimate;

  bool satisfies() const { return Satisfies(estimate); }
};

// Tries values of one scenario, and keeps the attempts that an answer without a value reports.
class Search {
 public:
  Search(const Scenario& base, SolveFor what, Evaluate evaluate)
      : scenario_(base), variable_(VariableOf(what)), evaluate_(evaluate) {}

  const Variable& variable() const { return variable_; }
  // Not OK once an attempt ended in neither an estimate nor a refusal: the search must stop.
  const absl::Status& stopped() const { return stopped_; }

  Attempt Try(double value) {
    variable_.set(value, scenario_);
    Attempt attempt{value, evaluate_(scenario_)};
    ++evaluations_;
    const absl::Status& status = attempt.estimate.status();
    if (!status.ok() && DetailOf(status).reason == Reason::kUnspecified) stopped_ = status;
    if (!status.ok() && !first_refusal_) first_refusal_ = attempt;
    if (status.ok() && (!nearest_ || Headroom(attempt) > Headroom(*nearest_))) nearest_ = attempt;
    return attempt;
  }

  // `beyond`: the value next to it, which does not satisfy; null where the range ends.
  Solution Found(Attempt best, const Attempt* beyond) const {
    Solution solution{.value = best.value, .estimate = *std::move(best.estimate), .evaluations = evaluations_};
    solution.binding = Constraint::kRange;
    solution.reason = absl::StrCat(variable_.name, " ", best.value, " is the end of the range");
    if (beyond != nullptr) Explain(*beyond, solution);
    return solution;
  }

  absl::StatusOr<Solution> NotFound() const {
    if (!nearest_ && !DependsOnValue(first_refusal_->estimate.status())) return first_refusal_->estimate.status();
    Solution solution{.evaluations = evaluations_};
    Explain(nearest_ ? *nearest_ : *first_refusal_, solution);
    if (!nearest_) return solution;
    solution.nearest = nearest_->value;
    solution.estimate = *nearest_->estimate;
    return solution;
  }

 private:
  static double Headroom(const Attempt& attempt) {
    const std::optional<SloVerdict>& slo = attempt.estimate->slo;
    return slo && slo->headroom ? *slo->headroom : 0;
  }

  void Explain(const Attempt& attempt, Solution& solution) const {
    const Failure failure = WhyNot(scenario_.slo, attempt.estimate);
    solution.binding = failure.constraint;
    solution.reason = absl::StrCat("at ", variable_.name, " ", attempt.value, ": ", failure.what);
  }

  Scenario scenario_;
  Variable variable_;
  Evaluate evaluate_;
  int evaluations_ = 0;
  absl::Status stopped_;
  std::optional<Attempt> nearest_;
  std::optional<Attempt> first_refusal_;
};

// Bisects between a value that satisfies and one that does not, until they are neighbours.
void Bisect(Search& search, Attempt& low, Attempt& high) {
  const bool whole = search.variable().whole;
  while (search.stopped().ok() && high.value - low.value > (whole ? 1 : kRateResolution * low.value)) {
    const double middle = (low.value + high.value) / 2;
    Attempt attempt = search.Try(whole ? std::floor(middle) : middle);
    (attempt.satisfies() ? low : high) = std::move(attempt);
  }
}

absl::StatusOr<Solution> Largest(Search& search, const SolveRange& range) {
  std::optional<Attempt> best;
  std::optional<Attempt> beyond;  // the point of the grid after best
  for (double value = range.min; search.stopped().ok(); value = std::min(range.max, value * 2)) {
    Attempt attempt = search.Try(value);
    if (attempt.satisfies()) {
      best = std::move(attempt);
      beyond.reset();
    } else if (best && !beyond) {
      beyond = std::move(attempt);
    }
    if (value >= range.max) break;
  }
  if (best && beyond) Bisect(search, *best, *beyond);
  if (!search.stopped().ok()) return search.stopped();
  if (!best) return search.NotFound();
  return search.Found(*std::move(best), beyond ? &*beyond : nullptr);
}

absl::StatusOr<Solution> SmallestTensorParallel(const Scenario& base, Search& search, const SolveRange& range) {
  const Deployment& d = base.deployment;
  std::optional<Attempt> before;
  for (const int tp : TensorParallelChoices(base.model->num_attention_heads, range)) {
    if (tp * d.data_parallel % d.expert_parallel != 0) continue;  // experts cannot be spread over these devices
    Attempt attempt = search.Try(tp);
    if (!search.stopped().ok()) return search.stopped();
    if (attempt.satisfies()) return search.Found(std::move(attempt), before ? &*before : nullptr);
    before = std::move(attempt);
  }
  if (before) return search.NotFound();
  return Solution{.binding = Constraint::kRange,
                  .reason = absl::StrCat("no tensor_parallel from ", range.min, " to ", range.max,
                                         " is a power of two or divides the heads, and is divided by expert_parallel")};
}

Constraint ConstraintOf(ServedTime time) {
  switch (time) {
    case ServedTime::kTtft:
      return Constraint::kTtft;
    case ServedTime::kTpot:
      return Constraint::kTpot;
    case ServedTime::kItl:
      return Constraint::kItl;
    case ServedTime::kE2e:
      break;
  }
  return Constraint::kE2e;
}

}  // namespace

bool Satisfies(const absl::StatusOr<Estimate>& estimate) {
  if (!estimate.ok()) return false;
  return !estimate->slo || estimate->slo->verdict == Verdict::kFeasible ||
         estimate->slo->verdict == Verdict::kUnspecified;
}

Failure WhyNot(const std::optional<Slo>& slo, const absl::StatusOr<Estimate>& estimate) {
  if (!estimate.ok()) {
    const Reason reason = DetailOf(estimate.status()).reason;
    const Constraint constraint = reason == Reason::kOutOfMemory    ? Constraint::kMemory
                                  : reason == Reason::kUnstableLoad ? Constraint::kStability
                                                                    : Constraint::kRefused;
    return {constraint, std::string(estimate.status().message())};
  }
  Failure failure;
  if (!slo) return failure;
  double least = 0;
  const bool by_band = slo->decide_by == DecideBy::kBand;
  ForEachBound(*slo, *estimate, [&](const SloBound& bound) {
    const Constraint term = ConstraintOf(bound.time);
    if (!bound.found) failure = {term, absl::StrCat(bound.Name(), " is not decided: no request ended")};
    if (!bound.found) return;
    const std::optional<Band>& band = bound.found->band;
    if (by_band && !band) {
      failure = {term, absl::StrCat(bound.Name(), " is not decided: the estimate has no error band")};
    }
    const Seconds found = by_band && band ? Seconds(band->high) : bound.found->time;
    if ((bound.allowed - found) / bound.allowed >= least) return;
    least = (bound.allowed - found) / bound.allowed;
    const char* what = by_band ? " is missed by the upper end of the error band: " : " is missed: ";
    failure = {term, absl::StrCat(bound.Name(), " ", bound.allowed.value(), what, found.value())};
  });
  return failure;
}

std::vector<int> TensorParallelChoices(int heads, const SolveRange& range) {
  std::vector<int> choices;
  for (int tp = static_cast<int>(range.min); tp <= static_cast<int>(range.max); ++tp) {
    const bool power_of_two = (tp & (tp - 1)) == 0;
    if (power_of_two || heads % tp == 0) choices.push_back(tp);
  }
  return choices;
}

absl::StatusOr<Solution> Solve(const Scenario& base, SolveFor what, const SolveRange& range, Evaluate evaluate) {
  Search search(base, what, evaluate);
  if (what == SolveFor::kTensorParallel) return SmallestTensorParallel(base, search, range);
  return Largest(search, range);
}

}  // namespace foretoken
