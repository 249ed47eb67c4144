#include "client/cli/validation/predict.h"

#include <map>
#include <string>

#include "client/status_details.h"

namespace foretoken::cli {
namespace {

// Half of what the server allows, so that a reply stays small.
constexpr size_t kRowsPerCall = 500;

using Indices = std::vector<size_t>;

// Rows that can share a base: those of one model on one hardware, in calls of bounded size.
std::vector<Indices> Calls(const std::vector<Measurement>& rows) {
  std::map<std::pair<std::string, std::string>, Indices> groups;
  for (size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].status.ok()) groups[{rows[i].sample.model_id(), rows[i].hardware_id}].push_back(i);
  }
  std::vector<Indices> calls;
  for (const auto& [key, indices] : groups) {
    for (size_t i = 0; i < indices.size(); ++i) {
      if (i % kRowsPerCall == 0) calls.emplace_back();
      calls.back().push_back(indices[i]);
    }
  }
  return calls;
}

v1::BatchEstimateRequest RequestOf(const std::vector<Measurement>& rows, const Indices& indices,
                                   const PredictOptions& options) {
  v1::BatchEstimateRequest request;
  const Measurement& first = rows[indices.front()];
  request.mutable_base()->set_model_id(first.sample.model_id());
  request.mutable_base()->set_hardware_id(first.hardware_id);
  request.mutable_base()->set_method(options.method);
  for (const size_t index : indices) *request.add_candidates() = CandidateOf(rows[index], options);
  return request;
}

Prediction PredictionOf(const v1::CandidateResult& result) {
  if (result.has_estimate()) return {.status = absl::OkStatus(), .estimate = result.estimate()};
  return {.status = client::FromProto(result.status()), .estimate = {}};
}

bool IsLlamaCpp(const v1::ProfileSample& sample) {
  const std::string& engine = sample.deployment().engine();
  return engine.substr(0, engine.find('@')) == "llama.cpp";
}

}  // namespace

v1::Candidate CandidateOf(const Measurement& row, const PredictOptions& options) {
  v1::Candidate candidate;
  *candidate.mutable_deployment() = row.sample.deployment();
  v1::Workload& workload = *candidate.mutable_workload();
  workload.set_batch_size(row.sample.batch_size());
  workload.set_prompt_tokens(row.sample.prompt_tokens());
  workload.set_output_tokens(row.sample.output_tokens());
  workload.set_batching_policy(row.sample.batching_policy());
  if (row.sample.has_request_rate_per_second()) {
    workload.set_request_rate_per_second(row.sample.request_rate_per_second());
  }
  const v1::ProfileSample& s = row.sample;
  if (s.has_prompt_spread_tokens()) workload.set_prompt_spread_tokens(s.prompt_spread_tokens());
  if (s.has_output_spread_tokens()) workload.set_output_spread_tokens(s.output_spread_tokens());
  if (s.has_closed_loop_requests()) workload.set_closed_loop_requests(s.closed_loop_requests());
  const bool continuous = s.batching_policy() == v1::BATCHING_POLICY_CONTINUOUS;
  // Static benchmarks repeat one prompt over the batch, so that its sequences choose the same experts. Those of
  // llama.cpp draw each token at random (test_prompt of llama-bench, get_token_rand of llama-batched-bench).
  const bool repeated = !continuous && options.routing == v1::EXPERT_ROUTING_UNSPECIFIED && !IsLlamaCpp(row.sample);
  workload.set_expert_routing(repeated ? v1::EXPERT_ROUTING_IDENTICAL_PROMPTS : options.routing);
  if (!continuous) workload.set_capacity_policy(v1::CAPACITY_POLICY_WAVES);
  return candidate;
}

absl::StatusOr<std::vector<Prediction>> Predict(const client::Client& client, const std::vector<Measurement>& rows,
                                                const PredictOptions& options,
                                                const std::function<void(double)>& progress) {
  std::vector<Prediction> predictions(rows.size());
  size_t done = 0;
  for (size_t i = 0; i < rows.size(); ++i) predictions[i].status = rows[i].status;
  for (const Indices& indices : Calls(rows)) {
    const absl::StatusOr<v1::BatchEstimateResponse> response = client.BatchEstimate(RequestOf(rows, indices, options));
    // A call can fail for what its rows share, as an unknown id: that is the answer for them, unless it is the way.
    const bool lost = absl::IsUnavailable(response.status()) || absl::IsDeadlineExceeded(response.status());
    if (lost) return response.status();
    for (size_t i = 0; i < indices.size(); ++i) {
      const bool answered = response.ok() && static_cast<int>(i) < response->results_size();
      predictions[indices[i]] =
          answered ? PredictionOf(response->results(static_cast<int>(i)))
                   : Prediction{.status = response.ok() ? absl::DataLossError("no answer came") : response.status(),
                                .estimate = {}};
    }
    done += indices.size();
    progress(static_cast<double>(done) / static_cast<double>(rows.size()));
  }
  return predictions;
}

}  // namespace foretoken::cli
