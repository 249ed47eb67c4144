// foretoken-load: drives a foretokend and prints one JSON object.
//
//   foretoken-load --target=127.0.0.1:50051 --call=estimate --in_flight=64            # closed loop
//   foretoken-load --target=127.0.0.1:50051 --call=batch --candidates=10 --rate=10000 # open loop
//   foretoken-load --target=127.0.0.1:50051 --call=sweep --server_pid=4711
//
// Calls: empty, payload, estimate, moe, batch, live_batch (unary); sweep, mix, columns, slow (streams); register.
// empty, payload and columns need a server with --serve_baseline.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/strings/numbers.h"
#include "server/rpc/baseline.pb.h"
#include "tests/bench/load/register_load.h"
#include "tests/bench/load/sweep_load.h"
#include "tests/bench/load/unary_load.h"
#include "tests/bench/scenarios.h"

ABSL_FLAG(std::string, target, "127.0.0.1:50051", "address of the server");
ABSL_FLAG(std::string, call, "estimate",
          "empty, payload, estimate, moe, batch, live_batch, sweep, mix, columns, slow or register");
ABSL_FLAG(int, reply_bytes, 0, "of a payload call, whose request is as long as an estimate's");
ABSL_FLAG(int, candidates, 10, "of a batch");
ABSL_FLAG(int, connections, 1, "of unary calls; parallel sweeps");
ABSL_FLAG(int, in_flight, 64, "calls at once, closed loop");
ABSL_FLAG(double, rate, 0, "calls per second; above 0: open loop");
ABSL_FLAG(bool, hold_back, false, "open loop: begin no call while the server allows no stream, as a client that sheds");
ABSL_FLAG(double, seconds, 3, "how long to measure");
ABSL_FLAG(double, warm_up, 0.5, "seconds before measuring");
ABSL_FLAG(int, values, 100, "of each axis of a sweep");
ABSL_FLAG(int, chunk_points, 0, "points of a chunk; 0: the server's default");
ABSL_FLAG(int, server_pid, 0, "whose CPU time and memory to report");

namespace foretoken::bench {
namespace {

template <typename Request>
UnaryCall MakeCall(const std::string& method, const Request& request) {
  const std::string message = request.SerializeAsString();
  const auto size = static_cast<uint32_t>(message.size());
  UnaryCall call{.path = "/foretoken." + method, .body = std::string(1, '\0')};
  for (int shift = 24; shift >= 0; shift -= 8) call.body += static_cast<char>(size >> shift);
  call.body += message;
  return call;
}

bool IsStream(const std::string& name) {
  return name == "sweep" || name == "mix" || name == "columns" || name == "slow";
}

bool IsUnary(const std::string& name) {
  return name == "empty" || name == "payload" || name == "estimate" || name == "moe" || name == "batch" ||
         name == "live_batch";
}

baseline::PayloadRequest PayloadAsLongAs(const v1::EstimateRequest& request) {
  baseline::PayloadRequest payload;
  payload.set_reply_bytes(absl::GetFlag(FLAGS_reply_bytes));
  payload.set_padding(std::string(request.ByteSizeLong(), 'x'));
  return payload;
}

// REQUIRES: IsUnary.
UnaryCall NamedCall(const std::string& name) {
  if (name == "empty") return MakeCall("baseline.BaselineService/Empty", v1::EstimateRequest());
  if (name == "batch") {
    return MakeCall("v1.EstimatorService/BatchEstimate", WorkloadCandidates(absl::GetFlag(FLAGS_candidates)));
  }
  if (name == "live_batch") {
    return MakeCall("v1.EstimatorService/BatchEstimate", LiveLoadCandidates(absl::GetFlag(FLAGS_candidates)));
  }
  v1::EstimateRequest request;
  *request.mutable_scenario() = name == "moe" ? MoeScenario() : DenseScenario();
  if (name == "payload") return MakeCall("baseline.BaselineService/Payload", PayloadAsLongAs(request));
  return MakeCall("v1.EstimatorService/Estimate", request);
}

// Of the calls that were answered well; a mean of none is 0.
int PrintUnary(const UnaryResult& r) {
  const auto calls = static_cast<double>(r.calls);
  const double each = std::max(1.0, calls);
  std::printf(
      "{\"calls\": %.0f, \"errors\": %llu, \"unanswered\": %llu, \"held_back\": %llu, \"calls_per_second\": %.1f, "
      "\"p50_us\": %.1f, "
      "\"p99_us\": %.1f, "
      "\"p999_us\": %.1f, \"server_user_us\": %.3f, \"server_system_us\": %.3f, \"response_bytes\": %.0f, "
      "\"server_resident_mib\": %.1f}\n",
      calls, static_cast<unsigned long long>(r.errors), static_cast<unsigned long long>(r.unanswered),
      static_cast<unsigned long long>(r.held_back), calls / r.seconds, r.latency.Quantile(0.5) / 1e3,
      r.latency.Quantile(0.99) / 1e3, r.latency.Quantile(0.999) / 1e3, 1e6 * r.server.user_seconds / each,
      1e6 * r.server.system_seconds / each, static_cast<double>(r.received_bytes) / each,
      r.server.resident_bytes / 1048576);
  if (r.errors > 0) {
    std::fprintf(stderr, "foretoken-load: %llu calls failed; %s\n", static_cast<unsigned long long>(r.errors),
                 r.first_error.empty() ? "the stream ended without a status" : r.first_error.c_str());
  } else if (r.calls == 0) {
    std::fprintf(stderr, "foretoken-load: no call was answered, %llu had begun\n",
                 static_cast<unsigned long long>(r.unanswered));
  }
  return r.errors == 0 && r.calls > 0 ? 0 : 1;
}

int PrintStream(const StreamResult& r) {
  const auto points = static_cast<double>(r.points);
  std::printf(
      "{\"points\": %.0f, \"refused_points\": %lld, \"errors\": %d, \"points_per_second\": %.0f, "
      "\"first_point_ms\": %.3f, \"server_ns_per_point\": %.2f, \"server_resident_mib\": %.1f, "
      "\"server_growth_mib\": %.1f}\n",
      points, static_cast<long long>(r.refused_points), r.errors, points / r.seconds, 1e3 * r.first_point_seconds,
      points > 0 ? 1e9 * (r.server.user_seconds + r.server.system_seconds) / points : 0,
      r.server.resident_bytes / 1048576, r.resident_growth_bytes / 1048576);
  if (r.errors == 0 && r.points == 0) std::fprintf(stderr, "foretoken-load: no point came\n");
  return r.errors == 0 && r.points > 0 ? 0 : 1;
}

int RunStream(const std::string& name) {
  const std::string target = absl::GetFlag(FLAGS_target);
  const int values = absl::GetFlag(FLAGS_values);
  const int pid = absl::GetFlag(FLAGS_server_pid);
  const double seconds = absl::GetFlag(FLAGS_seconds);
  v1::SweepRequest request = name == "mix" ? MixedSweep(values) : DenseSweep(values);
  if (absl::GetFlag(FLAGS_chunk_points) > 0) request.set_chunk_points(absl::GetFlag(FLAGS_chunk_points));
  if (name == "columns") return PrintStream(RunColumns(target, request, int64_t{values} * values * values, pid));
  if (name == "slow") return PrintStream(RunSlowReader(target, request, seconds, pid));
  return PrintStream(RunSweeps(target, request, absl::GetFlag(FLAGS_connections), seconds, pid));
}

int PrintRegistrations(const RegisterResult& r) {
  std::printf("{\"written\": %d, \"errors\": %d, \"per_second\": %.1f}\n", r.written, r.errors, r.written / r.seconds);
  return r.errors == 0 && r.written > 0 ? 0 : 1;
}

int Run() {
  const std::string name = absl::GetFlag(FLAGS_call);
  if (name == "register") {
    if (!(absl::GetFlag(FLAGS_rate) > 0)) {
      std::fprintf(stderr, "foretoken-load: --rate=%g; --call=register needs one above 0\n", absl::GetFlag(FLAGS_rate));
      return 2;
    }
    return PrintRegistrations(
        RunRegistrations(absl::GetFlag(FLAGS_target), absl::GetFlag(FLAGS_rate), absl::GetFlag(FLAGS_seconds)));
  }
  if (IsStream(name)) return RunStream(name);
  if (!IsUnary(name)) {
    std::fprintf(stderr, "foretoken-load: --call=%s; --help lists the calls\n", name.c_str());
    return 2;
  }
  const std::string target = absl::GetFlag(FLAGS_target);
  const size_t colon = target.rfind(':');
  int port = 0;
  if (colon == std::string::npos || !absl::SimpleAtoi(target.substr(colon + 1), &port)) {
    std::fprintf(stderr, "foretoken-load: --target=%s; allowed HOST:PORT\n", target.c_str());
    return 2;
  }
  const UnaryOptions options = {.host = target.substr(0, colon),
                                .port = port,
                                .connections = absl::GetFlag(FLAGS_connections),
                                .in_flight = absl::GetFlag(FLAGS_in_flight),
                                .calls_per_second = absl::GetFlag(FLAGS_rate),
                                .hold_back = absl::GetFlag(FLAGS_hold_back),
                                .seconds = absl::GetFlag(FLAGS_seconds),
                                .warm_up_seconds = absl::GetFlag(FLAGS_warm_up),
                                .server_pid = absl::GetFlag(FLAGS_server_pid)};
  return PrintUnary(RunUnary(options, NamedCall(name)));
}

}  // namespace
}  // namespace foretoken::bench

int main(int argc, char** argv) {
  absl::ParseCommandLine(argc, argv);
  return foretoken::bench::Run();
}
