// Measures loads one after the other, with what keeps the measurements honest: a warm-up, runs repeated until two of
// them agree, a reference load between them that shows drift, and runs that were spoiled measured again.
//
// Start of the room profile/: it drives an inference server and writes what it measured. It includes validation/ and
// the rooms before it.
#ifndef FORETOKEN_CLIENT_CLI_PROFILE_PROFILER_H_
#define FORETOKEN_CLIENT_CLI_PROFILE_PROFILER_H_

#include <functional>
#include <random>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "client/cli/profile/http.h"
#include "client/cli/profile/load.h"
#include "client/cli/profile/outcome.h"

namespace foretoken::cli {

struct ProfilerOptions {
  Target target;
  double budget_seconds = 300;
  int most_runs = 3;        // of a load, until two agree
  double agreement = 0.05;  // of means of TTFT and TPOT of two runs that agree
  // Of the reference's E2E against the median of those before, in natural log: more of it spoils what was measured
  // since the last one. On a quiet virtual machine it differs by up to a quarter (docs/profiling.md).
  double drift = 0.30;
  int between_references = 6;  // loads
  std::function<bool()> interrupted = [] { return false; };
};

// What the caller is told. An error ends the measuring. Those that are not required may be empty.
struct ProfilerEvents {
  // A load was measured, or cannot be (Outcome::usable), in `runs` runs. Required.
  std::function<absl::Status(const LoadPoint& asked, const Outcome& outcome, int runs)> on_outcome;
  // The machine drifted: the outcomes of `loads` are not to be used. They are measured again at the end.
  std::function<absl::Status(const Finding& finding, const std::vector<LoadPoint>& loads)> on_drift;
  // A block has ended: loads, then a reference.
  std::function<void()> on_block;
  // A run has ended.
  std::function<absl::Status(const LoadRun& run)> on_run;
  // Share of the budget that is used, and what is being measured.
  std::function<void(double share, const std::string& what)> on_progress;
};

class Profiler {
 public:
  Profiler(HttpClient& http, ProfilerOptions options, ProfilerEvents events, uint64_t seed);

  // Measures `loads`, the most telling first, in blocks: their order within a block is random, so that a slow change of
  // the machine does not look like an effect of the load. Ends when the budget is used; what is left of the loads is
  // not measured. Errors: CANCELLED: interrupted; those of the warm-up; the first error of an event.
  absl::Status Measure(std::vector<LoadPoint> loads);

  // Outcomes of the reference, in order, the warm-up's left out.
  const std::vector<Outcome>& references() const { return references_; }

  // Seconds since Measure began.
  double used() const { return SteadySeconds() - start_; }

 private:
  absl::Status WarmUp();
  absl::Status MeasureBlock(std::vector<LoadPoint> block, std::vector<LoadPoint>& again);
  absl::StatusOr<Outcome> RunOnce(const LoadPoint& load);
  absl::StatusOr<Outcome> MeasureLoad(const LoadPoint& load, int& runs);
  // How long the reference takes, over the median of those before.
  absl::StatusOr<double> CheckReference();
  bool Over() const { return used() >= options_.budget_seconds; }
  void Tell(const std::string& what) const;

  HttpClient& http_;
  const ProfilerOptions options_;
  const ProfilerEvents events_;
  std::mt19937_64 random_;
  double start_ = 0;
  std::vector<Outcome> references_;
};

// The runs of one load as one: the median of each figure, and the findings of all. REQUIRES: not empty.
Outcome MedianOf(const std::vector<Outcome>& runs);

// Whether the means of TTFT and TPOT differ by at most `share`.
bool Agree(const Outcome& a, const Outcome& b, double share);

}  // namespace foretoken::cli

#endif  // FORETOKEN_CLIENT_CLI_PROFILE_PROFILER_H_
