// Predictions of measured rows, by BatchEstimate.
#ifndef FORETOKEN_CLIENT_CLI_VALIDATION_PREDICT_H_
#define FORETOKEN_CLIENT_CLI_VALIDATION_PREDICT_H_

#include <functional>
#include <vector>

#include "absl/status/statusor.h"
#include "client/cli/validation/measurements.h"
#include "client/client.h"

namespace foretoken::cli {

// Settings that the rows do not state.
struct PredictOptions {
  v1::Method method = v1::METHOD_UNSPECIFIED;
  v1::ExpertRouting routing = v1::EXPERT_ROUTING_UNSPECIFIED;
};

// The answer for one row: an estimate, or the refusal.
struct Prediction {
  absl::Status status;
  v1::Estimate estimate;  // of an OK status
};

// The request for a row. A static batch that does not fit runs as sequential batches, as it did in the measurement.
v1::Candidate CandidateOf(const Measurement& row, const PredictOptions& options);

// One prediction per row, in order; a row that could not be read keeps its status. Rows of one model share a call.
// `progress` gets the completed share. Errors: UNAVAILABLE and DEADLINE_EXCEEDED, because no row caused them.
absl::StatusOr<std::vector<Prediction>> Predict(const client::Client& client, const std::vector<Measurement>& rows,
                                                const PredictOptions& options,
                                                const std::function<void(double)>& progress);

}  // namespace foretoken::cli

#endif  // FORETOKEN_CLIENT_CLI_VALIDATION_PREDICT_H_
