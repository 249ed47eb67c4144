#include "server/rpc/estimator_api.h"

#include "absl/strings/str_cat.h"
#include "estimator/errors.h"
#include "server/rpc/answer.h"
#include "server/rpc/scenario_reader.h"

namespace foretoken::rpc {

absl::Status AnswerEstimate(const v1::EstimateRequest& request, const Moment& moment, v1::EstimateResponse& response) {
  if (!request.has_scenario()) return Refusal(Reason::kInvalidField, "scenario", "scenario is required");
  const int output_tokens = request.scenario().workload().output_tokens();
  if (request.include_token_latencies() && output_tokens > kMaxTokenLatencies) {
    return Refusal(Reason::kLimitExceeded, "scenario.workload.output_tokens",
                   absl::StrCat("output_tokens ", output_tokens, " with include_token_latencies; allowed at most ",
                                kMaxTokenLatencies));
  }
  ScenarioReader reader(moment.snapshot, moment.now);
  reader.ReadAll(request.scenario(), "scenario.");
  const Detail detail = {.operators = request.include_operators(),
                         .token_latencies = request.include_token_latencies()};
  if (absl::Status status = Answer(reader, moment, detail, *response.mutable_estimate()); !status.ok()) return status;
  *response.mutable_catalog_revision() = moment.snapshot.revision();
  return absl::OkStatus();
}

}  // namespace foretoken::rpc
