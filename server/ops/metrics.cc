#include "server/ops/metrics.h"

#include <utility>

namespace foretoken::ops {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;

// As grpc-ecosystem spells them.
constexpr std::array<const char*, 17> kCodes = {
    "OK",       "Canceled",       "Unknown",          "InvalidArgument",   "DeadlineExceeded",
    "NotFound", "AlreadyExists",  "PermissionDenied", "ResourceExhausted", "FailedPrecondition",
    "Aborted",  "OutOfRange",     "Unimplemented",    "Internal",          "Unavailable",
    "DataLoss", "Unauthenticated"};

constexpr std::array<const char*, kNumAuthenticationFailures> kAuthenticationFailures = {"no_token", "unknown_token",
                                                                                         "role", "several_tokens"};

constexpr std::array<const char*, 4> kVerdicts = {"none", "feasible", "infeasible", "unknown"};

// 50 us to 10 s: an estimate takes the first buckets, a long sweep the last.
const std::vector<double>& SecondsBounds() {
  static const auto& bounds = *new std::vector<double>{50e-6, 100e-6, 150e-6, 250e-6, 500e-6, 1e-3, 2.5e-3, 5e-3,
                                                       10e-3, 25e-3,  50e-3,  100e-3, 250e-3, 1,    2.5,    10};
  return bounds;
}

std::vector<ClientMetric::Label> Labels(const Rpc& rpc) {
  return {{"grpc_service", rpc.service}, {"grpc_method", rpc.method}, {"grpc_type", std::string(rpc.type)}};
}

ClientMetric Counter(uint64_t value, std::vector<ClientMetric::Label> labels) {
  ClientMetric metric;
  metric.label = std::move(labels);
  metric.counter.value = static_cast<double>(value);
  return metric;
}

}  // namespace

Metrics::RpcMetrics::RpcMetrics() : seconds(SecondsBounds()) {}

Metrics::Metrics(std::string_view version)
    : version_(version), rpcs_(AllRpcs().size()), batch_candidates_({1, 2, 5, 10, 20, 50, 100, 200, 500, 1000}) {}

void Metrics::CallStarted(const Rpc& rpc) { rpcs_[rpc.index].started.fetch_add(1, std::memory_order_relaxed); }

void Metrics::CallHandled(const Rpc& rpc, grpc::StatusCode code, std::chrono::nanoseconds time) {
  RpcMetrics& metrics = rpcs_[rpc.index];
  const int known = code >= 0 && code < kNumCodes ? code : grpc::StatusCode::UNKNOWN;
  metrics.handled[static_cast<size_t>(known)].fetch_add(1, std::memory_order_relaxed);
  metrics.seconds.Observe(std::chrono::duration<double>(time).count());
}

void Metrics::SweepPoints(int64_t points) {
  sweep_points_.fetch_add(static_cast<uint64_t>(points), std::memory_order_relaxed);
}

void Metrics::BatchCandidates(int candidates) { batch_candidates_.Observe(candidates); }

void Metrics::SloVerdict(Verdict verdict) {
  verdicts_[static_cast<size_t>(verdict)].fetch_add(1, std::memory_order_relaxed);
}

MetricFamily Metrics::CollectStarted() const {
  MetricFamily family{"grpc_server_started_total", "RPCs that the server began.", MetricType::Counter, {}};
  for (const Rpc& rpc : AllRpcs()) family.metric.push_back(Counter(rpcs_[rpc.index].started, Labels(rpc)));
  return family;
}

MetricFamily Metrics::CollectHandled() const {
  MetricFamily family{"grpc_server_handled_total", "RPCs that the server ended, by code.", MetricType::Counter, {}};
  for (const Rpc& rpc : AllRpcs()) {
    for (size_t code = 0; code < kNumCodes; ++code) {
      family.metric.push_back(Counter(rpcs_[rpc.index].handled[code], Labels(rpc)));
      family.metric.back().label.push_back({"grpc_code", kCodes[code]});
    }
  }
  return family;
}

MetricFamily Metrics::CollectSeconds() const {
  MetricFamily family{"grpc_server_handling_seconds",
                      "Time from the start of an RPC to its end, in the server.",
                      MetricType::Histogram,
                      {}};
  for (const Rpc& rpc : AllRpcs()) {
    ClientMetric metric;
    metric.label = Labels(rpc);
    metric.histogram = rpcs_[rpc.index].seconds.Collect();
    family.metric.push_back(std::move(metric));
  }
  return family;
}

MetricFamily Metrics::CollectVerdicts() const {
  MetricFamily family{
      "foretoken_slo_verdicts_total", "Estimates by their verdict against the caller's SLO.", MetricType::Counter, {}};
  for (size_t i = 1; i < kNumVerdicts; ++i) {
    family.metric.push_back(Counter(verdicts_[i], {{"verdict", kVerdicts[i]}}));
  }
  return family;
}

void Metrics::AuthenticationFailed(AuthenticationFailure failure) {
  authentication_failures_[static_cast<size_t>(failure)].fetch_add(1, std::memory_order_relaxed);
}

MetricFamily Metrics::CollectAuthenticationFailures() const {
  MetricFamily family{"foretoken_authentication_failures_total",
                      "Calls refused for their token: none, unknown, of a role that may not, or more than one.",
                      MetricType::Counter,
                      {}};
  for (size_t i = 0; i < kNumAuthenticationFailures; ++i) {
    family.metric.push_back(Counter(authentication_failures_[i], {{"reason", kAuthenticationFailures[i]}}));
  }
  return family;
}

std::vector<MetricFamily> Metrics::Collect() const {
  ClientMetric candidates;
  candidates.histogram = batch_candidates_.Collect();
  ClientMetric build;
  build.label = {{"version", version_}};
  build.gauge.value = 1;
  return {CollectStarted(),
          CollectHandled(),
          CollectSeconds(),
          CollectVerdicts(),
          CollectAuthenticationFailures(),
          {"foretoken_sweep_points_total",
           "Points that sweeps computed.",
           MetricType::Counter,
           {Counter(sweep_points_, {})}},
          {"foretoken_batch_candidates", "Candidates per BatchEstimate.", MetricType::Histogram, {candidates}},
          {"foretoken_build_info", "1, labelled with the version that runs.", MetricType::Gauge, {build}}};
}

}  // namespace foretoken::ops
