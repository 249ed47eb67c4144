#include "server/rpc/estimate/estimator_api.h"

#include "absl/strings/str_cat.h"
#include "estimator/base/errors.h"
#include "estimator/scenario/output_lengths.h"
#include "server/rpc/estimate/answer.h"
#include "server/rpc/estimate/scenario_reader.h"

namespace foretoken::rpc {

namespace {

// Output lengths that differ run to the longest of the batch.
absl::Status CheckTokenLatencies(const Scenario& scenario) {
  const int tokens = WithBatchLength(scenario.workload, scenario.workload.batch_size).output_tokens;
  if (tokens <= kMaxTokenLatencies) return absl::OkStatus();
  const bool differ = scenario.workload.output_lengths.has_value();
  return Refusal(Reason::kLimitExceeded,
                 differ ? "scenario.workload.output_length_distribution" : "scenario.workload.output_tokens",
                 absl::StrCat(differ ? "longest output " : "output_tokens ", tokens,
                              " with include_token_latencies; allowed at most ", kMaxTokenLatencies));
}

}  // namespace

absl::Status AnswerEstimate(const v1::EstimateRequest& request, const Moment& moment, v1::EstimateResponse& response) {
  if (!request.has_scenario()) return Refusal(Reason::kInvalidField, "scenario", "scenario is required");
  ScenarioReader reader(moment.snapshot, moment.now);
  ScenarioEstimator estimator(reader, moment.snapshot);
  reader.ReadAll(request.scenario(), "scenario.");
  if (request.include_token_latencies()) {
    const auto scenario = estimator.scenario();
    if (!scenario.ok()) return scenario.status();
    if (absl::Status status = CheckTokenLatencies(**scenario); !status.ok()) return status;
  }
  const Detail detail = {.operators = request.include_operators(),
                         .token_latencies = request.include_token_latencies()};
  Estimate estimate;
  if (absl::Status status = Answer(estimator, moment, detail, estimate, *response.mutable_estimate()); !status.ok()) {
    return status;
  }
  *response.mutable_catalog_revision() = moment.snapshot.revision();
  return absl::OkStatus();
}

}  // namespace foretoken::rpc
