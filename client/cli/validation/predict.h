// Predictions of measured rows, by BatchEstimate.
#ifndef FORETOKEN_CLIENT_CLI_VALIDATION_PREDICT_H_
#define FORETOKEN_CLIENT_CLI_VALIDATION_PREDICT_H_

#include <functional>
#include <vector>

#include "absl/status/statusor.h"
#include "client/cli/validation/measurements.h"
#include "client/client.h"

namespace foretoken::cli {

// What the rows do not say.
struct PredictOptions {
  v1::Method method = v1::METHOD_UNSPECIFIED;
  v1::ExpertRouting routing = v1::EXPERT_ROUTING_UNSPECIFIED;
};

// The answer for one row: an estimate, or the refusal.
struct Prediction {
  absl::Status status;
  v1::Estimate estimate;  // of an OK status
};

// What a row asks: a static batch runs in waves where it does not fit, as it did when it was measured.
v1::Candidate CandidateOf(const Measurement& row, const PredictOptions& options);

// One prediction a row, in order; a row that could not be read keeps its status. Rows of one model share a call.
// `progress` gets the share that is done. Errors: those of the call, which no row is to blame for.
absl::StatusOr<std::vector<Prediction>> Predict(const client::Client& client, const std::vector<Measurement>& rows,
                                                const PredictOptions& options,
                                                const std::function<void(double)>& progress);

}  // namespace foretoken::cli

#endif  // FORETOKEN_CLIENT_CLI_VALIDATION_PREDICT_H_
