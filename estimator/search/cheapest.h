// Picks the cheapest of several candidates that meet the SLO, by the cost of a request.
#ifndef FORETOKEN_ESTIMATOR_SEARCH_CHEAPEST_H_
#define FORETOKEN_ESTIMATOR_SEARCH_CHEAPEST_H_

#include <optional>

#include "absl/status/statusor.h"
#include "estimator/search/solve.h"

namespace foretoken {

// Takes candidates one by one; the value of its solution is the index of the best.
class Cheapest {
 public:
  explicit Cheapest(const std::optional<Slo>& slo) : slo_(slo) {}

  void Add(const absl::StatusOr<Estimate>& estimate);

  // The cheapest so far, of two with the same cost the earlier. Where no candidate meets the SLO, the one that misses
  // it least; where none could be estimated, the reason of the first. REQUIRES: a candidate was added.
  const Solution& solution() const { return solution_; }

 private:
  void NoteFailure(int index, const absl::StatusOr<Estimate>& estimate);

  std::optional<Slo> slo_;
  Solution solution_;
};

}  // namespace foretoken

#endif  // FORETOKEN_ESTIMATOR_SEARCH_CHEAPEST_H_
