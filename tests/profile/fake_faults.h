// What a FakeEndpoint does wrong on purpose. All is off at first.
#ifndef FORETOKEN_TESTS_PROFILE_FAKE_FAULTS_H_
#define FORETOKEN_TESTS_PROFILE_FAKE_FAULTS_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace foretoken::fake {

// Every number is a double, so that a program sets it by its name: SetFaults.
struct FakeFaults {
  // Shares of requests, 0 to 1; 0.25 is each fourth. Faults of one stream begin after its first `after_events` events.
  double http_429 = 0;        // refused, with Retry-After
  double http_500 = 0;        // refused
  double early_stop = 0;      // half of the asked output, with finish_reason "stop", whatever ignore_eos says
  double reset = 0;           // the connection is reset
  double truncated_body = 0;  // the connection closes in the middle of an HTTP chunk
  double endless_event = 0;   // an event without newline; it ends when the client leaves, or after 256 MiB
  double huge_event = 0;      // an event of 10 MB
  double wrong_json = 0;      // an event that is no JSON
  double error_event = 0;     // an event with an error, and the end, as of an engine that fails
  double without_usage = 0;   // no usage, whether asked or not
  double after_events = 2;    // events
  double retry_after_seconds = 1;

  // Of all streams.
  double stream_interval = 1;    // tokens of an event after the first, as vLLM's --stream-interval
  double hold_back_seconds = 0;  // a proxy passes on what it has at most this often
  double early_role = 0;         // 1: a chat's first chunk, the role, comes at once and not with the first token

  // Of the engine.
  double stall_every_steps = 0;    // each so many steps, one takes
  double stall_seconds = 0;        // so much longer
  double drift_per_minute = 0;     // 0.05: steps take 5% longer after a minute, 10% after two
  double prefix_caching = 0;       // 1: whole blocks of prompts that were computed before are free
  double added_prompt_tokens = 0;  // of each prompt, computed and reported
  double tokens_per_word = 1;      // of prompts that are texts

  double without_metrics = 0;  // 1: /metrics and /version are not found
};

// Sets faults by their names: "reset=0.1,stall_every_steps=100,stall_seconds=2".
// Errors: INVALID_ARGUMENT naming a fault that is unknown, or a value that is no number from 0.
absl::Status SetFaults(std::string_view text, FakeFaults& faults);

// The names, with commas between them.
std::string FaultNames();

// Whether the request of this number, from 0, is of the share. Of any n requests in turn, share * n are, rounded.
bool IsOfShare(double share, int64_t request);

}  // namespace foretoken::fake

#endif  // FORETOKEN_TESTS_PROFILE_FAKE_FAULTS_H_
