// What a run measured, and what spoils it.
#ifndef FORETOKEN_CLIENT_CLI_PROFILE_OUTCOME_H_
#define FORETOKEN_CLIENT_CLI_PROFILE_OUTCOME_H_

#include <optional>
#include <string>
#include <vector>

#include "client/cli/profile/load.h"

namespace foretoken::cli {

// What was found in a run beside its times.
enum class FindingKind {
  kRequestsFailed,  // no answer, or HTTP other than 200
  kEndedEarly,      // fewer output tokens than asked
  kPrefixCached,    // prompt tokens came from a prefix cache
  kMergedTokens,    // several tokens an event: the first one's time is not known
  kHeldBack,        // events came in bunches: a proxy buffers, or the client was late
  kStalled,         // a pause that no prompt explains
  kSentLate,        // the client sent requests after they were due
  kClockStepped,    // the wall clock jumped; times are of the steady clock
  kOtherLengths,    // the endpoint counts other prompt lengths than asked
  kNoUsage,         // the endpoint does not count tokens; events were counted
  kDrifted,         // the reference load took another time than at the start
};

struct Finding {
  FindingKind kind;
  std::string text;     // with figures
  bool spoils = false;  // the run cannot be used
};

// Over the requests of a run, seconds.
struct Spread {
  double mean = 0;
  double p50 = 0;
  double p90 = 0;
  double p95 = 0;
  double p99 = 0;
};

struct Outcome {
  LoadPoint point;  // with the lengths as the endpoint counted them
  std::optional<Spread> ttft;
  std::optional<Spread> tpot;  // of a request (last - first output) / (output tokens - 1)
  std::optional<Spread> itl;   // between outputs of a request
  std::optional<Spread> e2e;
  std::vector<Finding> findings;
  double seconds = 0;  // of the run

  bool usable() const;
};

// REQUIRES: the run has requests.
Outcome Summarize(const LoadRun& run);

// The percentiles of values, at the rank of the share. REQUIRES: not empty.
Spread SpreadOf(std::vector<double> values);

}  // namespace foretoken::cli

#endif  // FORETOKEN_CLIENT_CLI_PROFILE_OUTCOME_H_
