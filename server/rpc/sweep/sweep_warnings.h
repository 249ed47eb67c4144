// Collects what stood in for the engines that the points of a sweep ask for, for the summary: chunks carry no warnings.
#ifndef FORETOKEN_SERVER_RPC_SWEEP_SWEEP_WARNINGS_H_
#define FORETOKEN_SERVER_RPC_SWEEP_SWEEP_WARNINGS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "estimator/scenario/estimate.h"
#include "foretoken/v1/sweep.pb.h"

namespace foretoken::rpc {

// More would be engines, versions and devices that nobody reads.
inline constexpr size_t kMaxSweepWarnings = 100;

// Not thread-safe.
class SweepWarnings {
 public:
  // Notes the warnings about engines that `points` points from `first_point` on have.
  void Note(const std::vector<Warning>& warnings, int64_t first_point, int64_t points);

  // Adds what was noted to the summary.
  void Write(v1::SweepSummary& summary) const;

 private:
  struct Noted {
    Warning warning;
    int64_t first_point = 0;
    int64_t points = 0;
  };

  Noted* Find(const Warning& warning);

  std::vector<Noted> noted_;
  size_t last_ = 0;  // the place of what was found last: points one after another mostly have the same
};

}  // namespace foretoken::rpc

#endif  // FORETOKEN_SERVER_RPC_SWEEP_SWEEP_WARNINGS_H_
