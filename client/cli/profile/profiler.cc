#include "client/cli/profile/profiler.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "client/cli/validation/error_summary.h"

namespace foretoken::cli {
namespace {

// One request at a time, short: what the machine is like, free of waiting.
constexpr LoadPoint kReference = {
    .requests = 3, .prompt_least = 128, .prompt_most = 128, .output_least = 16, .output_most = 16};
constexpr int kMostWarmUps = 8;
// A run that takes longer than this share of the budget is given up, so that one load does not use up the others' time.
constexpr double kMostShare = 0.25;
constexpr double kLeastLimitSeconds = 10;
// Before a load that failed is tried again, as after HTTP 429.
constexpr absl::Duration kPause = absl::Seconds(2);

std::optional<Spread> MedianOf(const std::vector<Outcome>& runs, std::optional<Spread> Outcome::*time) {
  const auto median = [&runs, time](double Spread::*figure) {
    std::vector<double> values;
    for (const Outcome& run : runs) {
      if ((run.*time).has_value()) values.push_back(*(run.*time).*figure);
    }
    return Median(values);
  };
  if (std::none_of(runs.begin(), runs.end(), [time](const Outcome& run) { return (run.*time).has_value(); })) {
    return std::nullopt;
  }
  return Spread{.mean = median(&Spread::mean),
                .p50 = median(&Spread::p50),
                .p90 = median(&Spread::p90),
                .p95 = median(&Spread::p95),
                .p99 = median(&Spread::p99)};
}

bool Near(const std::optional<Spread>& a, const std::optional<Spread>& b, double share) {
  if (!a.has_value() || !b.has_value()) return a.has_value() == b.has_value();
  return std::abs(std::log(a->mean / b->mean)) <= share;
}

}  // namespace

bool Agree(const Outcome& a, const Outcome& b, double share) {
  return Near(a.ttft, b.ttft, share) && Near(a.tpot, b.tpot, share);
}

Outcome MedianOf(const std::vector<Outcome>& runs) {
  Outcome all = runs.front();
  all.ttft = MedianOf(runs, &Outcome::ttft);
  all.tpot = MedianOf(runs, &Outcome::tpot);
  all.itl = MedianOf(runs, &Outcome::itl);
  all.e2e = MedianOf(runs, &Outcome::e2e);
  for (size_t i = 1; i < runs.size(); ++i) {
    all.seconds += runs[i].seconds;
    for (const Finding& finding : runs[i].findings) {
      const bool known = std::any_of(all.findings.begin(), all.findings.end(),
                                     [&finding](const Finding& f) { return f.kind == finding.kind; });
      if (!known) all.findings.push_back(finding);
    }
  }
  return all;
}

Profiler::Profiler(HttpClient& http, ProfilerOptions options, ProfilerEvents events, uint64_t seed)
    : http_(http), options_(std::move(options)), events_(std::move(events)), random_(seed) {}

void Profiler::Tell(const std::string& what) const {
  if (events_.on_progress) events_.on_progress(std::min(1.0, used() / options_.budget_seconds), what);
}

absl::StatusOr<Outcome> Profiler::RunOnce(const LoadPoint& load) {
  Tell(Describe(load));
  const LoadLimits limits{.seconds = std::max(kLeastLimitSeconds, kMostShare * options_.budget_seconds),
                          .interrupted = options_.interrupted};
  const absl::StatusOr<LoadRun> run = RunLoad(http_, options_.target, load, limits, random_);
  if (run.ok()) {
    if (events_.on_run) {
      if (absl::Status status = events_.on_run(*run); !status.ok()) return status;
    }
    return Summarize(*run);
  }
  if (absl::IsCancelled(run.status())) return run.status();
  Outcome outcome{.point = load};
  outcome.findings.push_back(
      {.kind = FindingKind::kRequestsFailed, .text = std::string(run.status().message()), .spoils = true});
  return outcome;
}

absl::StatusOr<Outcome> Profiler::MeasureLoad(const LoadPoint& load, int& runs) {
  std::vector<Outcome> usable;
  Outcome spoiled;
  for (runs = 1;; ++runs) {
    absl::StatusOr<Outcome> outcome = RunOnce(load);
    if (!outcome.ok()) return outcome.status();
    if (outcome->usable()) {
      for (const Outcome& other : usable) {
        if (Agree(other, *outcome, options_.agreement)) return MedianOf({other, *outcome});
      }
      usable.push_back(*std::move(outcome));
    } else {
      spoiled = *std::move(outcome);
    }
    if (runs >= options_.most_runs || Over()) break;
    if (!spoiled.findings.empty() && usable.empty()) absl::SleepFor(kPause);
  }
  if (usable.empty()) return spoiled;
  usable.front().findings.insert(usable.front().findings.end(), spoiled.findings.begin(), spoiled.findings.end());
  for (Finding& finding : usable.front().findings) finding.spoils = false;  // the run that it spoiled is left out
  return MedianOf(usable);
}

absl::Status Profiler::WarmUp() {
  absl::StatusOr<Outcome> before = RunOnce(kReference);
  for (int i = 0; i < kMostWarmUps && before.ok(); ++i) {
    absl::StatusOr<Outcome> now = RunOnce(kReference);
    if (!now.ok()) return now.status();
    const bool steady = now->usable() && before->usable() && Agree(*before, *now, options_.agreement);
    before = std::move(now);
    if (steady) break;
  }
  if (!before.ok()) return before.status();
  if (!before->e2e.has_value()) {
    const std::string why = before->findings.empty() ? "no answer" : before->findings.front().text;
    return absl::FailedPreconditionError(absl::StrCat(Describe(kReference), ": ", why));
  }
  references_.push_back(*std::move(before));
  return absl::OkStatus();
}

absl::StatusOr<double> Profiler::CheckReference() {
  int runs = 0;
  absl::StatusOr<Outcome> now = MeasureLoad(kReference, runs);
  if (!now.ok()) return now.status();
  if (!now->e2e.has_value()) return 1;
  std::vector<double> before;
  for (const Outcome& reference : references_) before.push_back(reference.e2e->p50);
  const double ratio = now->e2e->p50 / Median(before);
  references_.push_back(*std::move(now));
  return ratio;
}

absl::Status Profiler::MeasureBlock(std::vector<LoadPoint> block, std::vector<LoadPoint>& again) {
  std::shuffle(block.begin(), block.end(), random_);
  size_t measured = 0;
  for (; measured < block.size() && !Over(); ++measured) {
    int runs = 0;
    const absl::StatusOr<Outcome> outcome = MeasureLoad(block[measured], runs);
    if (!outcome.ok()) return outcome.status();
    if (absl::Status status = events_.on_outcome(block[measured], *outcome, runs); !status.ok()) return status;
  }
  const absl::StatusOr<double> ratio = CheckReference();
  if (!ratio.ok()) return ratio.status();
  if (events_.on_block) events_.on_block();
  if (std::abs(std::log(*ratio)) <= options_.drift) return absl::OkStatus();
  again.assign(block.begin(), block.begin() + static_cast<std::ptrdiff_t>(measured));
  if (!events_.on_drift) return absl::OkStatus();
  return events_.on_drift(
      {.kind = FindingKind::kDrifted,
       .text = absl::StrFormat("the reference load takes %.2f times what it took in the median before: a "
                               "neighbour, or a clock of the device that changed",
                               *ratio),
       .spoils = true},
      again);
}

absl::Status Profiler::Measure(std::vector<LoadPoint> loads) {
  start_ = SteadySeconds();
  if (absl::Status status = WarmUp(); !status.ok()) return status;
  const size_t size = static_cast<size_t>(options_.between_references);
  for (size_t first = 0; first < loads.size() && !Over(); first += size) {
    std::vector<LoadPoint> again;
    const auto begin = loads.begin() + static_cast<std::ptrdiff_t>(first);
    const auto count = static_cast<std::ptrdiff_t>(std::min(size, loads.size() - first));
    if (absl::Status status = MeasureBlock({begin, begin + count}, again); !status.ok()) return status;
    loads.insert(loads.end(), again.begin(), again.end());
  }
  return absl::OkStatus();
}

}  // namespace foretoken::cli
