// From a scenario that was read to the API's estimate: the step that Estimate and each candidate of a batch share.
#ifndef FORETOKEN_SERVER_RPC_ESTIMATE_ANSWER_H_
#define FORETOKEN_SERVER_RPC_ESTIMATE_ANSWER_H_

#include <optional>

#include "absl/status/status.h"
#include "estimator/methods/estimator.h"
#include "foretoken/v1/estimate.pb.h"
#include "server/rpc/estimate/estimator_api.h"
#include "server/rpc/estimate/scenario_estimator.h"
#include "server/rpc/estimate/scenario_reader.h"

namespace foretoken::rpc {

// Says that the store does not answer and its last state is used; absent: it answers.
std::optional<Warning> StaleCatalogWarning(const Moment& moment);

// Fills `message` with an estimate of the scenario that `reader` has read, with the load's age and what to warn about.
void WriteAnswer(const Estimate& estimate, const ScenarioReader& reader, const Scenario& scenario, const Moment& moment,
                 v1::Estimate& message);

// Estimates what was read and fills `message`; `estimate` is room to work in, whatever it held.
// Errors: those of ScenarioEstimator::Estimate.
absl::Status Answer(ScenarioEstimator& estimator, const Moment& moment, const Detail& detail, Estimate& estimate,
                    v1::Estimate& message);

}  // namespace foretoken::rpc

#endif  // FORETOKEN_SERVER_RPC_ESTIMATE_ANSWER_H_
