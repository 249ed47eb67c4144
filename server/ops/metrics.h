// What the server counts about its own work, for Prometheus. Every label set exists from the start, so that rates are
// right from the first call, and counting takes no lock: a call costs a few relaxed additions.
// The grpc_server_* metrics have the names that existing gRPC dashboards know.
#ifndef FORETOKEN_SERVER_OPS_METRICS_H_
#define FORETOKEN_SERVER_OPS_METRICS_H_

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "estimator/scenario/estimate.h"
#include "grpcpp/support/status.h"
#include "prometheus/collectable.h"
#include "prometheus/metric_family.h"
#include "server/ops/histogram.h"
#include "server/ops/rpcs.h"

namespace foretoken::ops {

// Why a call was refused for who called.
enum class AuthenticationFailure { kNoToken, kUnknownToken, kRole, kSeveralTokens };
inline constexpr int kNumAuthenticationFailures = 4;

// Thread-safe.
class Metrics : public prometheus::Collectable {
 public:
  explicit Metrics(std::string_view version);

  void CallStarted(const Rpc& rpc);
  void CallHandled(const Rpc& rpc, grpc::StatusCode code, std::chrono::nanoseconds time);
  void SweepPoints(int64_t points);
  void BatchCandidates(int candidates);
  void SloVerdict(Verdict verdict);
  void AuthenticationFailed(AuthenticationFailure failure);

  std::vector<prometheus::MetricFamily> Collect() const override;

 private:
  static constexpr int kNumCodes = 17;  // OK to UNAUTHENTICATED
  static constexpr int kNumVerdicts = 4;
  struct RpcMetrics {
    RpcMetrics();
    std::atomic<uint64_t> started{0};
    std::array<std::atomic<uint64_t>, kNumCodes> handled{};
    Histogram seconds;
  };

  prometheus::MetricFamily CollectStarted() const;
  prometheus::MetricFamily CollectHandled() const;
  prometheus::MetricFamily CollectSeconds() const;
  prometheus::MetricFamily CollectVerdicts() const;
  prometheus::MetricFamily CollectAuthenticationFailures() const;

  std::string version_;
  std::vector<RpcMetrics> rpcs_;  // as AllRpcs()
  std::atomic<uint64_t> sweep_points_{0};
  Histogram batch_candidates_;
  std::array<std::atomic<uint64_t>, kNumVerdicts> verdicts_{};
  std::array<std::atomic<uint64_t>, kNumAuthenticationFailures> authentication_failures_{};
};

}  // namespace foretoken::ops

#endif  // FORETOKEN_SERVER_OPS_METRICS_H_
