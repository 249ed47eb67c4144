#include "estimator/serving/serve.h"

#include "estimator/serving/batch.h"
#include "estimator/serving/closed_loop.h"
#include "estimator/serving/coverage.h"
#include "estimator/serving/disaggregated.h"
#include "estimator/serving/dynamic_batch.h"
#include "estimator/serving/live_load.h"
#include "estimator/serving/open_loop.h"

namespace foretoken {

absl::StatusOr<Served> Serve(const Replica& replica, std::vector<Warning>& warnings) {
  const Scope policy = PolicyOf(replica.scenario);
  if (absl::Status covered = CheckCovered(replica.scenario, policy); !covered.ok()) return covered;
  WarnOfIgnored(replica.scenario, policy, FeatureGroup::kLimits, warnings);
  switch (policy) {
    case Scope::kDisaggregatedBatches:
    case Scope::kDisaggregatedContinuous:
      return ServeDisaggregated(replica);
    case Scope::kLiveLoad:
      return ServeLiveLoad(replica, warnings);
    case Scope::kDynamic:
      return ServeDynamic(replica);
    case Scope::kClosedLoop:
      return ServeClosedLoop(replica, warnings);
    case Scope::kOpenLoop:
      return ServeOpenLoop(replica);
    default:
      return ServeStatic(replica, warnings);
  }
}

}  // namespace foretoken
