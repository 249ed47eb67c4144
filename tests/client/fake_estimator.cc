// The estimator's half of the fake server.
#include <algorithm>
#include <limits>
#include <thread>

#include "google/rpc/status.pb.h"
#include "tests/client/fake_replies.h"
#include "tests/client/fake_server.h"

namespace foretoken::client {
namespace {

google::rpc::Status ToProto(const grpc::Status& status) {
  google::rpc::Status proto;
  proto.ParseFromString(status.error_details());
  return proto;
}

// Why a scenario is refused; OK when it is not.
grpc::Status Check(const v1::Scenario& scenario) {
  if (scenario.hardware_id() != "gpu-a" && scenario.hardware_id() != "gpu-b") {
    return Refuse(grpc::StatusCode::NOT_FOUND, "UNKNOWN_ID",
                  "hardware \"" + scenario.hardware_id() + "\" is not in the catalog; closest: gpu-a, gpu-b",
                  "scenario.hardware_id");
  }
  if (scenario.model_id() == "large") {
    return Refuse(grpc::StatusCode::FAILED_PRECONDITION, "OUT_OF_MEMORY", "needs 90 GB, there are 80 GB");
  }
  if (scenario.workload().batch_size() < 0) {
    return Refuse(grpc::StatusCode::INVALID_ARGUMENT, "INVALID_FIELD", "workload.batch_size -1; allowed 1 to 1000000",
                  "scenario.workload.batch_size");
  }
  return grpc::Status::OK;
}

void SetTime(double seconds, v1::TimeEstimate* time) {
  time->set_seconds(seconds);
  time->mutable_band()->set_low(seconds * 0.9);
  time->mutable_band()->set_high(seconds * 1.2);
  time->mutable_band()->set_coverage(0.8);
}

v1::Estimate MakeEstimate(const v1::Scenario& scenario) {
  const double batch = scenario.workload().has_batch_size() ? scenario.workload().batch_size() : 1;
  const double slower = scenario.hardware_id() == "gpu-b" ? 2 : 1;
  const double ttft = 0.01 * batch * slower;
  const double tpot = 0.001 * batch * slower;
  const double steps = scenario.workload().output_tokens() - 1;
  v1::Estimate estimate;
  estimate.set_method(v1::METHOD_OPERATOR_MODEL);
  SetTime(ttft, estimate.mutable_ttft());
  SetTime(tpot, estimate.mutable_tpot());
  SetTime(ttft + steps * tpot, estimate.mutable_e2e());
  estimate.set_decode_steps(steps);
  estimate.mutable_prefill()->set_seconds(ttft);
  estimate.mutable_prefill()->mutable_parts()->set_compute_seconds(ttft * 0.75);
  estimate.mutable_prefill()->mutable_parts()->set_memory_seconds(ttft * 0.25);
  estimate.mutable_prefill()->set_bound(v1::BOUND_COMPUTE);
  estimate.mutable_prefill()->set_provenance(v1::PROVENANCE_DATASHEET);
  estimate.mutable_decode()->set_seconds(steps * tpot);
  estimate.mutable_decode()->mutable_parts()->set_memory_seconds(steps * tpot);
  estimate.mutable_decode()->set_bound(v1::BOUND_MEMORY);
  estimate.mutable_decode()->set_provenance(v1::PROVENANCE_DATASHEET);
  if (!scenario.deployment().engine().empty() && scenario.hardware_id() == "gpu-a") {
    estimate.mutable_prefill()->set_provenance(v1::PROVENANCE_CALIBRATED);
    estimate.mutable_decode()->set_provenance(v1::PROVENANCE_CALIBRATED);
    estimate.set_calibration_id("gpu-a." + scenario.deployment().engine());
  }
  estimate.set_waves(1);
  estimate.set_devices(1);
  if (scenario.slo().has_max_ttft_seconds()) {
    const double bound = scenario.slo().max_ttft_seconds();
    estimate.mutable_slo_verdict()->set_verdict(ttft <= bound ? v1::VERDICT_FEASIBLE : v1::VERDICT_INFEASIBLE);
    estimate.mutable_slo_verdict()->set_headroom((bound - ttft) / bound);
  }
  return estimate;
}

v1::OperatorEstimate MakeOperator(const std::string& name, double seconds) {
  v1::OperatorEstimate one;
  one.set_name(name);
  one.set_count(32);
  one.set_flops(2e9);
  one.set_bytes(1e9);
  one.set_seconds(seconds);
  one.set_bound(v1::BOUND_MEMORY);
  one.set_formula("(W + M*(K + N)*a) / (BW*e_w)");
  (*one.mutable_inputs())["M"] = 16;
  (*one.mutable_inputs())["BW"] = 3.35e12;
  return one;
}

v1::SweepResponse MakeHeader(const v1::SweepRequest& request, int points) {
  v1::SweepResponse response;
  v1::SweepHeader& header = *response.mutable_header();
  *header.mutable_axes() = request.axes();
  header.set_total_points(points);
  *header.mutable_metrics() = request.metrics();
  if (header.metrics().empty()) header.add_metrics(v1::METRIC_TTFT_SECONDS);
  SetRevision(header.mutable_catalog_revision());
  return response;
}

// Metric k of point i is 0.01 * (i + 1) + k; the last point of all is refused.
v1::SweepResponse MakeChunk(const v1::SweepHeader& header, int first, int count, int points) {
  v1::SweepResponse response;
  v1::SweepChunk& chunk = *response.mutable_chunk();
  chunk.set_first_point(first);
  chunk.set_num_points(count);
  for (int metric : header.metrics()) chunk.add_columns()->set_metric(static_cast<v1::Metric>(metric));
  for (int i = first; i < first + count; ++i) {
    const bool refused = i == points - 1;
    for (int k = 0; k < chunk.columns_size(); ++k) {
      const double value = refused ? std::numeric_limits<double>::quiet_NaN() : 0.01 * (i + 1) + k;
      chunk.mutable_columns(k)->add_values(value);
    }
    chunk.add_statuses(refused ? 9 : 0);
    chunk.add_reasons(refused ? v1::REASON_OUT_OF_MEMORY : v1::REASON_UNSPECIFIED);
    chunk.add_provenances(refused ? v1::PROVENANCE_UNSPECIFIED : v1::PROVENANCE_DATASHEET);
    if (!refused) continue;
    v1::SweepError& error = *chunk.add_errors();
    error.set_point(i);
    *error.mutable_status() =
        ToProto(Refuse(grpc::StatusCode::FAILED_PRECONDITION, "OUT_OF_MEMORY", "needs 90 GB, there are 80 GB"));
  }
  chunk.set_progress(static_cast<double>(first + count) / points);
  return response;
}

v1::SweepResponse MakeSummary(int points) {
  v1::SweepResponse response;
  v1::SweepSummary& summary = *response.mutable_summary();
  summary.set_ok_points(points - 1);
  summary.set_refused_points(1);
  v1::FrontierPoint& point = *summary.add_frontier();
  point.set_point(0);
  point.set_latency_seconds(0.001);
  point.set_output_tokens_per_second_per_device(1000);
  return response;
}

}  // namespace

grpc::Status FakeEstimator::Estimate(grpc::ServerContext* context, const v1::EstimateRequest* request,
                                     v1::EstimateResponse* response) {
  ++calls;
  last = *request;
  if (UseFailure(failures)) return Unavailable();
  while (silent && !context->IsCancelled()) std::this_thread::yield();
  const grpc::Status status = refusal.ok() ? Check(request->scenario()) : refusal;
  if (!status.ok()) return status;
  *response->mutable_estimate() = reply.value_or(MakeEstimate(request->scenario()));
  SetRevision(response->mutable_catalog_revision());
  if (reply.has_value() || !request->include_operators()) return status;
  *response->mutable_estimate()->add_prefill_operators() = MakeOperator("qkv_proj", 0.004);
  *response->mutable_estimate()->add_prefill_operators() = MakeOperator("mlp_up", 0.005);
  *response->mutable_estimate()->add_decode_operators() = MakeOperator("qkv_proj", 0.001);
  return status;
}

grpc::Status FakeEstimator::BatchEstimate(grpc::ServerContext*, const v1::BatchEstimateRequest* request,
                                          v1::BatchEstimateResponse* response) {
  ++calls;
  last_batch = *request;
  std::vector<std::pair<double, int>> order;
  for (const v1::Candidate& candidate : request->candidates()) {
    v1::Scenario scenario = request->base();
    if (candidate.has_hardware_id()) scenario.set_hardware_id(candidate.hardware_id());
    if (candidate.has_workload()) *scenario.mutable_workload() = candidate.workload();
    v1::CandidateResult& result = *response->add_results();
    result.set_candidate_id(candidate.candidate_id());
    const grpc::Status status = Check(scenario);
    if (status.ok()) *result.mutable_estimate() = reply.value_or(MakeEstimate(scenario));
    if (!status.ok()) *result.mutable_status() = ToProto(status);
    const double e2e = status.ok() ? result.estimate().e2e().seconds() : std::numeric_limits<double>::infinity();
    order.emplace_back(e2e, response->results_size() - 1);
  }
  std::stable_sort(order.begin(), order.end());
  for (const auto& [seconds, index] : order) {
    if (request->rank_by() != v1::RANK_BY_UNSPECIFIED) response->add_ranking(index);
  }
  SetRevision(response->mutable_catalog_revision());
  return grpc::Status::OK;
}

grpc::Status FakeEstimator::Solve(grpc::ServerContext*, const v1::SolveRequest* request, v1::SolveResponse* response) {
  ++calls;
  last_solve = *request;
  const v1::Slo& slo = request->base().slo();
  const bool satisfied = !slo.has_max_tpot_seconds() || slo.max_tpot_seconds() >= 1e-3;
  response->set_satisfied(satisfied);
  const double value = request->candidates().empty() ? 37 : 1;
  satisfied ? response->set_value(value) : response->set_nearest_value(1);
  response->set_binding_constraint(v1::CONSTRAINT_MAX_TPOT);
  response->set_binding_message("at batch_size 38: max_tpot_seconds 0.01 is missed: 0.011");
  *response->mutable_estimate() = reply.value_or(MakeEstimate(request->base()));
  for (const v1::HardwareCandidate& candidate : request->candidates()) {
    v1::Scenario scenario = request->base();
    scenario.set_hardware_id(candidate.hardware_id());
    *response->add_candidate_results()->mutable_estimate() = reply.value_or(MakeEstimate(scenario));
  }
  SetRevision(response->mutable_catalog_revision());
  return grpc::Status::OK;
}

grpc::Status FakeEstimator::Simulate(grpc::ServerContext*, const v1::SimulateRequest* request,
                                     v1::SimulateResponse* response) {
  ++calls;
  last_simulate = *request;
  v1::SimulatedTime& mean = *response->mutable_ttft()->mutable_mean();
  mean.set_seconds(0.01);
  mean.set_standard_error_seconds(0.0002);
  response->set_mean_running_sequences(3.5);
  response->set_most_running_sequences(8);
  response->set_provenance(v1::PROVENANCE_DATASHEET);
  v1::Warning& warning = *response->add_warnings();
  warning.set_message("a warning");
  warning.set_field("simulation.max_steps");
  if (request->simulation().include_requests()) {
    v1::SimulatedRequest& row = *response->add_request_rows();
    row.set_arrival_seconds(0.5);
    row.set_prompt_tokens(10);
    row.set_output_tokens(1);
    row.set_ttft_seconds(0.01);
    row.set_e2e_seconds(0.01);
  }
  SetRevision(response->mutable_catalog_revision());
  return grpc::Status::OK;
}

grpc::Status FakeEstimator::Sweep(grpc::ServerContext* context, const v1::SweepRequest* request,
                                  grpc::ServerWriter<v1::SweepResponse>* writer) {
  ++calls;
  last_sweep = *request;
  if (UseFailure(failures)) return Unavailable();
  int points = 1;
  for (const v1::SweepAxis& axis : request->axes()) {
    points *= std::max({axis.numbers().values_size(), axis.texts().values_size(), axis.dtypes().values_size(), 1});
  }
  const v1::SweepResponse header = MakeHeader(*request, points);
  if (!headless) writer->Write(header);
  while (endless && !context->IsCancelled()) writer->Write(MakeChunk(header.header(), 0, 1, 1000));
  cancelled = context->IsCancelled();
  const int half = points / 2;
  writer->Write(MakeChunk(header.header(), 0, half, points));
  writer->Write(MakeChunk(header.header(), half, points - half, points));
  v1::SweepResponse last_message = MakeSummary(points);
  last_message.mutable_summary()->MergeFrom(summary);
  if (!cut) writer->Write(last_message);
  return grpc::Status::OK;
}

}  // namespace foretoken::client
