#include "estimator/serving/served.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "estimator/base/errors.h"

namespace foretoken {

double MostRunning(const Replica& replica) {
  if (replica.capacity.largest_batch < 1) return 0;
  Scenario halfway = replica.scenario;
  halfway.workload.output_tokens = (halfway.workload.output_tokens + 1) / 2;
  double most = MeasureCapacity(halfway, replica.model.shard, replica.model.machine).largest_batch;
  const Scenario& s = replica.scenario;
  if (s.deployment.max_num_seqs && !s.disaggregation) most = std::min<double>(most, *s.deployment.max_num_seqs);
  if (s.live_load && s.live_load->max_num_seqs) most = std::min<double>(most, *s.live_load->max_num_seqs);
  return most;
}

double HeldHalfway(const Workload& workload, double running) {
  const double whole = static_cast<double>(workload.prompt_tokens) + workload.output_tokens;
  return running * workload.mean_context() / whole;
}

absl::Status Unstable(const Scenario& scenario, const std::string& limit, double stable) {
  return Refusal(Reason::kUnstableLoad, "workload.request_rate_per_second",
                 absl::StrCat("request_rate_per_second ", *scenario.workload.request_rate_per_second, "; ", limit,
                              " serves below ", stable));
}

absl::Status Unstable(const Replica& replica, const std::string& how, double stable) {
  const Scenario& s = replica.scenario;
  const std::string limit = absl::StrCat(s.model->id, " on ", s.hardware->id, " ", how, " per replica");
  return Unstable(s, limit, stable * s.deployment.data_parallel);
}

}  // namespace foretoken
