#include "estimator/search/cheapest.h"

#include "absl/strings/str_cat.h"

namespace foretoken {

void Cheapest::Add(const absl::StatusOr<Estimate>& estimate) {
  const int index = solution_.evaluations++;
  if (!Satisfies(estimate) || !estimate->cost) {
    if (!solution_.value) NoteFailure(index, estimate);
    return;
  }
  const bool dearer = solution_.value && estimate->cost->per_request >= solution_.estimate->cost->per_request;
  if (dearer) return;
  const int evaluations = solution_.evaluations;
  solution_ = {.value = index, .estimate = *estimate, .evaluations = evaluations};
}

void Cheapest::NoteFailure(int index, const absl::StatusOr<Estimate>& estimate) {
  const auto headroom = [](const Estimate& e) { return e.slo && e.slo->headroom ? *e.slo->headroom : 0; };
  const bool first = index == 0;
  const bool nearer = estimate.ok() && (!solution_.estimate || headroom(*estimate) > headroom(*solution_.estimate));
  if (!first && !nearer) return;
  Failure failure{Constraint::kRefused, "the estimate has no cost"};
  if (!Satisfies(estimate)) failure = WhyNot(slo_, estimate);
  solution_.binding = failure.constraint;
  solution_.reason = absl::StrCat("candidate ", index, ": ", failure.what);
  if (!estimate.ok()) return;
  solution_.nearest = index;
  solution_.estimate = *estimate;
}

}  // namespace foretoken
