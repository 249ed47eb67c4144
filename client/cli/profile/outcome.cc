#include "client/cli/profile/outcome.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace foretoken::cli {
namespace {

// Bounds of what is noise. None of them is a constant of the model: a run beyond one is reported, and measured again.
constexpr double kMergedShare = 0.9;        // fewer events a token are several tokens an event
constexpr double kBunchedSeconds = 0.0003;  // no engine makes the tokens of one request faster
constexpr double kBunchedShare = 0.5;       // of gaps
constexpr double kStallTtfts = 3;           // a pause is explained by a prompt of another request, not by three
constexpr double kStallGaps = 20;           // and is no slow step
constexpr double kLateShare = 0.05;         // of the time to the first token
constexpr double kLateSeconds = 0.002;
constexpr double kClockStepSeconds = 0.05;
constexpr double kCachedShare = 0.01;

int OutputTokens(const RequestTiming& request) { return request.output_tokens.value_or(request.events); }

std::vector<double> AllGaps(const std::vector<const RequestTiming*>& requests) {
  std::vector<double> gaps;
  for (const RequestTiming* request : requests) gaps.insert(gaps.end(), request->gaps.begin(), request->gaps.end());
  return gaps;
}

double Mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

// The run as it is examined: its requests that were answered.
struct Examined {
  const LoadRun& run;
  std::vector<const RequestTiming*> answered;
  std::vector<double> gaps;
  double median_ttft = 0;
  Outcome& outcome;

  void Add(FindingKind kind, bool spoils, std::string text) const {
    outcome.findings.push_back({.kind = kind, .text = std::move(text), .spoils = spoils});
  }
};

void FindFailures(const Examined& e) {
  std::map<std::string, int> reasons;
  for (const RequestTiming& request : e.run.requests) {
    if (!request.status.ok()) ++reasons[std::string(request.status.message())];
  }
  for (const auto& [reason, count] : reasons) {
    if (reason.empty()) continue;  // never sent, because too many had failed
    e.Add(FindingKind::kRequestsFailed, true,
          absl::StrCat(count, " of ", e.run.requests.size(), " requests failed: ", reason));
  }
}

void FindLengths(const Examined& e) {
  int early = 0, uncounted = 0;
  double cached = 0, prompts = 0, asked = 0;
  for (const RequestTiming* request : e.answered) {
    if (!request->output_tokens.has_value()) ++uncounted;
    if (OutputTokens(*request) < request->output_asked) ++early;
    cached += request->cached_tokens;
    prompts += request->prompt_tokens.value_or(request->prompt_asked);
    asked += request->prompt_asked;
  }
  const size_t all = e.answered.size();
  if (uncounted > 0)
    e.Add(FindingKind::kNoUsage, false, absl::StrCat(uncounted, " of ", all, " answers have no usage"));
  if (early > 0) {
    e.Add(FindingKind::kEndedEarly, true, absl::StrCat(early, " of ", all, " outputs are shorter than asked"));
  }
  if (cached > kCachedShare * prompts) {
    e.Add(FindingKind::kPrefixCached, true,
          absl::StrFormat("%.0f%% of the prompt tokens came from a prefix cache", 100 * cached / prompts));
  }
  if (prompts != asked) {
    e.Add(FindingKind::kOtherLengths, false,
          absl::StrFormat("prompts count %.1f tokens on average; asked: %.1f", prompts / static_cast<double>(all),
                          asked / static_cast<double>(all)));
  }
}

// Whether several tokens share an event.
bool FindMerged(const Examined& e) {
  double events = 0, tokens = 0;
  for (const RequestTiming* request : e.answered) {
    events += request->events;
    tokens += OutputTokens(*request);
  }
  if (events >= kMergedShare * tokens) return false;
  e.Add(FindingKind::kMergedTokens, false,
        absl::StrFormat("%.1f tokens an event (a stream interval): the time of the first token is not known",
                        tokens / events));
  return true;
}

// Whether events came in bunches.
bool FindHeldBack(const Examined& e) {
  if (e.gaps.empty()) return false;
  const auto together = std::count_if(e.gaps.begin(), e.gaps.end(), [](double gap) { return gap < kBunchedSeconds; });
  const double share = static_cast<double>(together) / static_cast<double>(e.gaps.size());
  if (share < kBunchedShare) return false;
  e.Add(FindingKind::kHeldBack, false,
        absl::StrFormat("%.0f%% of the tokens came together with the one before: a proxy holds them back, or this "
                        "machine is too slow to read them",
                        100 * share));
  return true;
}

void FindPauses(const Examined& e) {
  if (!e.gaps.empty()) {
    const double longest = *std::max_element(e.gaps.begin(), e.gaps.end());
    const double explained = kStallTtfts * e.median_ttft + kStallGaps * SpreadOf(e.gaps).p50;
    if (longest > explained) {
      e.Add(
          FindingKind::kStalled, true,
          absl::StrFormat("a pause of %.2f s between two tokens; a prompt explains up to %.2f s", longest, explained));
    }
  }
  std::vector<double> late;
  for (const RequestTiming* request : e.answered) late.push_back(request->sent - request->due);
  const double p90 = SpreadOf(late).p90;
  if (p90 > std::max(kLateSeconds, kLateShare * e.median_ttft)) {
    e.Add(FindingKind::kSentLate, true,
          absl::StrFormat("a tenth of the requests were sent %.1f ms late or later: this machine is too slow",
                          1e3 * p90));
  }
  if (std::abs(e.run.clock_step) > kClockStepSeconds) {
    e.Add(FindingKind::kClockStepped, false,
          absl::StrFormat("the wall clock stepped by %.2f s; the times are of the steady clock", e.run.clock_step));
  }
}

// The lengths as the endpoint counts them.
LoadPoint Counted(const LoadRun& run, const std::vector<const RequestTiming*>& answered) {
  LoadPoint point = run.point;
  double more = 0;
  for (const RequestTiming* request : answered) {
    more += request->prompt_tokens.value_or(request->prompt_asked) - request->prompt_asked;
  }
  const int shift = static_cast<int>(std::lround(more / static_cast<double>(answered.size())));
  point.prompt_least = std::max(1, point.prompt_least + shift);
  point.prompt_most = std::max(1, point.prompt_most + shift);
  return point;
}

// First tokens are known where no event has several, and none is held back.
void SetTimes(const Examined& e, bool merged, bool held_back) {
  std::vector<double> ttft, tpot, e2e;
  for (const RequestTiming* request : e.answered) {
    const double tokens = OutputTokens(*request);
    const double after_first = tokens - tokens / request->events;  // the first event has its share of them
    ttft.push_back(request->first);
    e2e.push_back(request->last);
    if (after_first > 0) tpot.push_back((request->last - request->first) / after_first);
  }
  e.outcome.e2e = SpreadOf(e2e);
  if (held_back) return;
  if (!tpot.empty()) e.outcome.tpot = SpreadOf(tpot);
  if (merged) return;
  e.outcome.ttft = SpreadOf(ttft);
  if (!e.gaps.empty()) e.outcome.itl = SpreadOf(e.gaps);
}

}  // namespace

bool Outcome::usable() const {
  return e2e.has_value() && std::none_of(findings.begin(), findings.end(), [](const Finding& f) { return f.spoils; });
}

Spread SpreadOf(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const auto at = [&values](double share) {
    const double rank = std::ceil(share * static_cast<double>(values.size()));
    return values[static_cast<size_t>(std::max(1.0, rank)) - 1];
  };
  return {.mean = Mean(values), .p50 = at(0.5), .p90 = at(0.9), .p95 = at(0.95), .p99 = at(0.99)};
}

Outcome Summarize(const LoadRun& run) {
  Outcome outcome{.point = run.point, .seconds = run.seconds};
  Examined e{.run = run, .outcome = outcome};
  for (const RequestTiming& request : run.requests) {
    if (request.status.ok() && request.events > 0) e.answered.push_back(&request);
  }
  FindFailures(e);
  if (e.answered.empty()) return outcome;
  e.gaps = AllGaps(e.answered);
  std::vector<double> ttft;
  for (const RequestTiming* request : e.answered) ttft.push_back(request->first);
  e.median_ttft = SpreadOf(ttft).p50;
  outcome.point = Counted(run, e.answered);
  FindLengths(e);
  const bool merged = FindMerged(e);
  const bool held_back = FindHeldBack(e);
  FindPauses(e);
  SetTimes(e, merged, held_back);
  return outcome;
}

}  // namespace foretoken::cli
