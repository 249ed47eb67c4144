// foretoken-caller: asks without a pause longer than --pause, over one channel of the client library, until its
// standard input ends. Then it prints the calls, the longest and every failure that was left after the library's own
// retries.
//
//   foretoken-caller --server=localhost:50051 --ca_file=ca.crt --role=scheduler
//
// Roles: scheduler (BatchEstimate of ten candidates under live load), dashboard (Sweep of 1,000 points to its end).
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "client/client.h"
#include "client/status_details.h"
#include "tests/bench/scenarios.h"

ABSL_FLAG(std::string, server, "127.0.0.1:50051", "address to call");
ABSL_FLAG(std::string, ca_file, "", "authorities of its certificate; empty: plain text");
ABSL_FLAG(std::string, role, "scheduler", "scheduler or dashboard");
ABSL_FLAG(absl::Duration, pause, absl::Milliseconds(5), "between two calls");

namespace foretoken {
namespace {

constexpr absl::Duration kDeadline = absl::Seconds(10);  // of a call, retries included
constexpr int kCandidates = 10;
constexpr int kValues = 10;  // of each of a sweep's three axes

absl::Status AskForCandidates(const client::Client& client) {
  const auto response = client.BatchEstimate(bench::LiveLoadCandidates(kCandidates));
  if (!response.ok()) return response.status();
  if (response->results_size() == kCandidates) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat(response->results_size(), " results"));
}

absl::Status SweepToTheEnd(const client::Client& client) {
  const auto sweep = client.Sweep(bench::DenseSweep(kValues));
  if (const auto header = sweep->ReadHeader(); !header.ok()) return header.status();
  for (;;) {
    const absl::StatusOr<std::optional<v1::SweepChunk>> chunk = sweep->ReadChunk();
    if (!chunk.ok()) return chunk.status();
    if (!chunk->has_value()) return absl::OkStatus();
  }
}

// Waits for the pause; whether standard input has ended.
bool IsOver() {
  pollfd input{.fd = STDIN_FILENO, .events = POLLIN, .revents = 0};
  return poll(&input, 1, static_cast<int>(absl::ToInt64Milliseconds(absl::GetFlag(FLAGS_pause)))) != 0;
}

// The exit code.
int CallUntilTold(const client::Client& client, absl::Status (&call)(const client::Client&)) {
  int64_t calls = 0, failures = 0;
  absl::Duration longest;
  do {
    const absl::Time begin = absl::Now();
    const absl::Status status = call(client);
    longest = std::max(longest, absl::Now() - begin);
    ++calls;
    if (status.ok()) continue;
    ++failures;
    const std::string time = absl::FormatTime("%H:%M:%E3S", begin, absl::UTCTimeZone());
    std::printf("failure at %s: %s\n", time.c_str(), client::Describe(status).c_str());
  } while (!IsOver());
  std::printf("calls %lld failures %lld longest_seconds %.3f\n", static_cast<long long>(calls),
              static_cast<long long>(failures), absl::ToDoubleSeconds(longest));
  return failures == 0 ? 0 : 1;
}

}  // namespace
}  // namespace foretoken

int main(int argc, char** argv) {
  absl::ParseCommandLine(argc, argv);
  const auto channel = foretoken::client::Dial(absl::GetFlag(FLAGS_server), {.ca = absl::GetFlag(FLAGS_ca_file)});
  if (!channel.ok()) {
    std::fprintf(stderr, "%s\n", foretoken::client::Describe(channel.status()).c_str());
    return 2;
  }
  const foretoken::client::Client client(*channel,
                                         {.timeout = foretoken::kDeadline, .sweep_timeout = foretoken::kDeadline});
  return foretoken::CallUntilTold(
      client, absl::GetFlag(FLAGS_role) == "dashboard" ? foretoken::SweepToTheEnd : foretoken::AskForCandidates);
}
