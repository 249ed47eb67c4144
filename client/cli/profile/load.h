// One load on an endpoint: a closed loop or an open one, and when each of its requests got its tokens.
#ifndef FORETOKEN_CLIENT_CLI_PROFILE_LOAD_H_
#define FORETOKEN_CLIENT_CLI_PROFILE_LOAD_H_

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/random/bit_gen_ref.h"
#include "absl/status/statusor.h"
#include "client/cli/profile/completion.h"
#include "client/cli/profile/http.h"

namespace foretoken::cli {

// The requests of a run. Lengths are uniform from least to most.
struct LoadPoint {
  int concurrency = 1;         // of a closed loop, all of which begin at once; each request that ends is replaced
  std::optional<double> rate;  // of an open loop, requests/s, in place of the concurrency
  double arrival_cv = 1;       // of an open loop: deviation over mean of the times between arrivals; 1: Poisson
  int requests = 1;            // of the whole run
  int prompt_least = 1;
  int prompt_most = 1;
  int output_least = 1;
  int output_most = 1;

  bool operator==(const LoadPoint&) const = default;
};

// "8 at once, 512 + 64 tokens, 24 requests".
std::string Describe(const LoadPoint& point);

// One request of a run. Times are seconds.
struct RequestTiming {
  int prompt_asked = 0;
  int output_asked = 0;
  double due = 0;                    // since the run began: when it was to be sent
  double sent = 0;                   // since the run began
  double first = 0;                  // since sent: the first output
  double last = 0;                   // since sent: the last output
  double end = 0;                    // since sent: the end of the answer
  int events = 0;                    // that held output
  std::optional<int> prompt_tokens;  // as the endpoint counts them
  std::optional<int> output_tokens;
  int cached_tokens = 0;
  std::vector<float> gaps;  // between events that held output
  absl::Status status;      // UNAVAILABLE, DEADLINE_EXCEEDED, DATA_LOSS, ...; of another HTTP status, with that
  int http_status = 0;      // 0: no answer came
};

struct LoadRun {
  LoadPoint point;
  std::vector<RequestTiming> requests;  // in the order of their start
  double seconds = 0;
  double clock_step = 0;  // seconds by which the wall clock moved against the steady one
};

// Where requests go.
struct Target {
  std::string url;  // "http://127.0.0.1:8000"
  std::string model;
  Api api = Api::kCompletions;
  PromptScale scale;
};

struct LoadLimits {
  double seconds = 600;  // of a run: then it is given up
  std::function<bool()> interrupted = [] { return false; };
};

// Runs the load. A request that fails is in the result with its status; after ten of them no more are sent. Errors:
// CANCELLED: interrupted; DEADLINE_EXCEEDED: not done within the limit.
absl::StatusOr<LoadRun> RunLoad(HttpClient& http, const Target& target, const LoadPoint& point,
                                const LoadLimits& limits, absl::BitGenRef random);

}  // namespace foretoken::cli

#endif  // FORETOKEN_CLIENT_CLI_PROFILE_LOAD_H_
