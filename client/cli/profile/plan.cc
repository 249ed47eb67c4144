#include "client/cli/profile/plan.h"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <string>

#include "absl/strings/str_cat.h"
#include "client/status_details.h"

namespace foretoken::cli {
namespace {

// What a time of a load is made of: parts of prefill, parts of decode, and what is neither (waiting).
constexpr int kParts = 9;
using Elasticities = Eigen::Matrix<double, kParts, 1>;
using Information = Eigen::Matrix<double, kParts, kParts>;

// A prior of the constants in natural log, and the noise of a measured time: what has been measured this well once
// tells little the second time.
constexpr double kPriorDeviation = 0.5;
constexpr double kNoise = 0.05;
// A run costs this besides its requests: connecting, counting, and the reference beside it.
constexpr double kFixedSeconds = 0.2;

struct Candidate {
  PlannedLoad load;
  Elasticities ttft, tpot;
};

Elasticities PartsOf(const v1::Phase& phase, double of, int first) {
  Elasticities parts = Elasticities::Zero();
  const v1::TimeParts& p = phase.parts();
  const double values[] = {p.compute_seconds(), p.memory_seconds(), p.communication_seconds(), p.host_seconds()};
  for (int i = 0; i < 4; ++i) parts[first + i] = of > 0 ? values[i] / of : 0;
  return parts;
}

double RunSeconds(const LoadPoint& point, const v1::Estimate& estimate) {
  const double rounds = std::ceil(static_cast<double>(point.requests) / point.concurrency);
  return kFixedSeconds + rounds * estimate.e2e().seconds();
}

Candidate CandidateOf(const LoadPoint& point, const v1::Estimate& estimate) {
  const double ttft = estimate.ttft().seconds();
  Candidate candidate{.load = {.point = point, .seconds = RunSeconds(point, estimate)},
                      .ttft = PartsOf(estimate.prefill(), ttft, 0),
                      .tpot = PartsOf(estimate.decode(), estimate.decode().seconds(), 4)};
  candidate.ttft[kParts - 1] = std::max(0.0, 1 - candidate.ttft.sum());
  return candidate;
}

// log det(F + gg') - log det(F) = log(1 + g' F^-1 g), for both times one after the other.
double Gain(const Information& information, const Candidate& candidate) {
  const Information inverse = information.inverse();
  const auto told = [&inverse](const Elasticities& g) { return std::log1p(g.dot(inverse * g) / (kNoise * kNoise)); };
  return told(candidate.ttft) + told(candidate.tpot);
}

void Add(const Candidate& candidate, Information& information) {
  information +=
      (candidate.ttft * candidate.ttft.transpose() + candidate.tpot * candidate.tpot.transpose()) / (kNoise * kNoise);
}

std::vector<PlannedLoad> Ordered(std::vector<Candidate> left) {
  Information information = Information::Identity() / (kPriorDeviation * kPriorDeviation);
  std::vector<PlannedLoad> plan;
  while (!left.empty()) {
    const auto worth = [&information](const Candidate& c) { return Gain(information, c) / c.load.seconds; };
    const auto best = std::max_element(
        left.begin(), left.end(), [&worth](const Candidate& a, const Candidate& b) { return worth(a) < worth(b); });
    Add(*best, information);
    plan.push_back(best->load);
    left.erase(best);
  }
  return plan;
}

LoadPoint Load(int concurrency, int prompt, int output, bool mixed) {
  const int rounds = mixed ? 4 : 2;  // the first round begins at once, which is no steady state
  return {.concurrency = concurrency,
          .requests = std::max(3, rounds * concurrency),
          .prompt_least = mixed ? std::max(1, prompt / 2) : prompt,
          .prompt_most = prompt,
          .output_least = mixed ? std::max(1, output / 2) : output,
          .output_most = output};
}

}  // namespace

std::vector<LoadPoint> CandidateLoads(const PlanLimits& limits) {
  std::vector<LoadPoint> loads;
  for (int concurrency = 1; concurrency <= limits.most_concurrent; concurrency *= 2) {
    for (int prompt = 32; prompt <= limits.longest_prompt; prompt *= 4) {
      for (int output = 16; output <= limits.longest_output; output *= 4) {
        if (limits.longest_sequence > 0 && prompt + output > limits.longest_sequence) continue;
        loads.push_back(Load(concurrency, prompt, output, false));
        if (concurrency > 2) loads.push_back(Load(concurrency, prompt, output, true));
      }
    }
  }
  return loads;
}

v1::Workload WorkloadOf(const LoadPoint& point) {
  v1::Workload workload;
  workload.set_batching_policy(v1::BATCHING_POLICY_CONTINUOUS);
  workload.set_batch_size(point.rate.has_value() ? 1 : point.concurrency);
  if (point.rate.has_value()) workload.set_request_rate_per_second(*point.rate);
  const int prompt_spread = (point.prompt_most - point.prompt_least) / 2;
  const int output_spread = (point.output_most - point.output_least) / 2;
  workload.set_prompt_tokens(point.prompt_most - prompt_spread);
  workload.set_output_tokens(point.output_most - output_spread);
  if (point.rate.has_value()) return workload;
  workload.set_closed_loop_requests(point.requests);
  if (prompt_spread > 0) workload.set_prompt_spread_tokens(prompt_spread);
  if (output_spread > 0) workload.set_output_spread_tokens(output_spread);
  return workload;
}

absl::StatusOr<std::vector<PlannedLoad>> MakePlan(const client::Client& client, const v1::Scenario& base,
                                                  const PlanLimits& limits) {
  const std::vector<LoadPoint> loads = CandidateLoads(limits);
  v1::BatchEstimateRequest request;
  *request.mutable_base() = base;
  for (const LoadPoint& load : loads) *request.add_candidates()->mutable_workload() = WorkloadOf(load);
  const absl::StatusOr<v1::BatchEstimateResponse> response = client.BatchEstimate(request);
  if (!response.ok()) return response.status();
  std::vector<Candidate> candidates;
  for (int i = 0; i < response->results_size(); ++i) {
    if (response->results(i).has_estimate())
      candidates.push_back(CandidateOf(loads[i], response->results(i).estimate()));
  }
  if (candidates.empty() && response->results_size() > 0) return client::FromProto(response->results(0).status());
  return Ordered(std::move(candidates));
}

}  // namespace foretoken::cli
