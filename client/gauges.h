// The live load of a replica, read from the metrics of its engine: for routers in C++.
//
//   absl::StatusOr<v1::LiveLoad> load = LiveLoadOf(metrics);   // the text of http://replica/metrics
//   if (load.ok()) *candidate.mutable_live_load() = *load;
//   candidate.mutable_live_load()->set_max_num_seqs(256);      // no engine's gauge: as the replica was started
//
// docs/live-load.md says what each gauge means, and what a router has to count itself.
#ifndef FORETOKEN_CLIENT_GAUGES_H_
#define FORETOKEN_CLIENT_GAUGES_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "foretoken/v1/scenario.pb.h"

namespace foretoken::client {

// Longer texts of metrics are refused.
inline constexpr size_t kMaxMetricsBytes = size_t{16} << 20;

// Reads the Prometheus text format of vLLM, SGLang, TensorRT-LLM (trtllm-serve), llama.cpp or Dynamo. Counts of several
// series of one gauge (data-parallel ranks) are added up, and shares are averaged. What is not there stays absent.
// Errors: INVALID_ARGUMENT: no known gauge, with those that are known; a gauge that is negative or no number; a text
// that is too long.
absl::StatusOr<v1::LiveLoad> LiveLoadOf(const std::string& metrics);

// One gauge that LiveLoadOf reads.
struct Gauge {
  const char* engine;
  const char* name;
  const char* field;  // of LiveLoad
};
const std::vector<Gauge>& KnownGauges();

}  // namespace foretoken::client

#endif  // FORETOKEN_CLIENT_GAUGES_H_
