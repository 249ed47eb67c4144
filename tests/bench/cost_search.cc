// Looks for the dearest estimates among random scenarios, ordinary ones and those at the limits of the API, and prints
// their CPU times. Also prints a digest of every estimate, so that two builds can be compared bit by bit.
//
//   cost_search worst 200000 1      the dearest of so many scenarios from seed 1, and a histogram
//   cost_search told 200000 1       those that take longest for what CpuTimeOf tells
//   cost_search bits 20000 1        one line a scenario: its digest, or its refusal
//   cost_search extreme-bits 20000 1
#include <time.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "estimator/base/errors.h"
#include "estimator/methods/cpu_time.h"
#include "estimator/methods/estimator.h"
#include "estimator/methods/step_model_cache.h"
#include "tests/estimator/extreme_scenarios.h"
#include "tests/estimator/random_scenarios.h"

namespace foretoken {
namespace {

double CpuSeconds() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

double TimeOnce(const Scenario& scenario) {
  const double begin = CpuSeconds();
  const absl::StatusOr<Estimate> estimate = ComputeEstimate(scenario);
  return CpuSeconds() - begin;
}

// The least of several runs where the first was slow: others use the machine.
double TimeOf(const Scenario& scenario, double interesting) {
  double best = TimeOnce(scenario);
  for (int i = 0; i < 8 && best > interesting; ++i) best = std::min(best, TimeOnce(scenario));
  return best;
}

struct Found {
  double seconds;
  std::string what;
};

std::string Features(const Scenario& s) {
  std::string text = Describe(s);
  if (s.speculation) text += " draft " + std::to_string(s.speculation->draft_tokens);
  if (s.disaggregation) text += " pools";
  if (s.workload.output_lengths) text += " quantiles " + std::to_string(s.workload.output_lengths->quantiles.size());
  if (s.workload.batching_window) text += " window_s " + std::to_string(s.workload.batching_window->value());
  text += " method " + std::to_string(static_cast<int>(s.method));
  return text;
}

void Worst(int count, unsigned seed, bool extreme) {
  ExtremeScenarios source(seed);
  std::vector<Found> found;
  std::vector<int> histogram(16);
  const auto begin = CpuSeconds();
  for (int i = 0; i < count; ++i) {
    const Scenario scenario = extreme ? source.Next() : source.source().Next();
    double least = 20e-6;
    const double seconds = TimeOf(scenario, least);
    ++histogram[static_cast<size_t>(std::clamp(static_cast<int>(std::log2(seconds * 1e6)) + 1, 0, 15))];
    if (seconds > least) found.push_back({seconds, std::to_string(i) + ": " + Features(scenario)});
  }
  std::sort(found.begin(), found.end(), [](const Found& a, const Found& b) { return a.seconds > b.seconds; });
  for (size_t i = 0; i < std::min<size_t>(25, found.size()); ++i) {
    std::printf("%10.1f us  %s\n", found[i].seconds * 1e6, found[i].what.c_str());
  }
  for (size_t i = 0; i < histogram.size(); ++i) std::printf("below %6d us: %d\n", 1 << i, histogram[i]);
  std::printf("%.1f s of CPU\n", CpuSeconds() - begin);
}

// Beyond 1.5 times what is told.
void Told(int count, unsigned seed) {
  ExtremeScenarios source(seed);
  std::vector<Found> found;
  for (int i = 0; i < count; ++i) {
    const Scenario scenario = i % 3 == 0 ? source.source().Next() : source.Next();
    const double told = CpuTimeOf(scenario).value();
    const double ratio = TimeOf(scenario, 1.5 * told) / told;
    if (ratio > 1.5) found.push_back({ratio, std::to_string(told * 1e6) + " us told: " + Features(scenario)});
  }
  std::sort(found.begin(), found.end(), [](const Found& a, const Found& b) { return a.seconds > b.seconds; });
  std::printf("%zu of %d beyond 1.5 times what is told\n", found.size(), count);
  for (size_t i = 0; i < std::min<size_t>(25, found.size()); ++i) {
    std::printf("%6.2f  %s\n", found[i].seconds, found[i].what.c_str());
  }
}

// FNV-1a over the numbers of an estimate.
class Digest {
 public:
  void Add(double number) {
    uint64_t bits;
    std::memcpy(&bits, &number, sizeof bits);
    for (int i = 0; i < 8; ++i) hash_ = (hash_ ^ (bits >> (8 * i) & 255)) * 1099511628211u;
  }
  void Add(const TimeParts& parts) {
    for (const Seconds part : {parts.compute, parts.memory, parts.communication, parts.host, parts.queueing}) {
      Add(part.value());
    }
  }
  uint64_t value() const { return hash_; }

 private:
  uint64_t hash_ = 14695981039346656037u;
};

uint64_t TimesOf(const Estimate& e) {
  Digest digest;
  digest.Add(e.prefill.parts.value_or(TimeParts()));
  digest.Add(e.decode.parts.value_or(TimeParts()));
  digest.Add(e.tpot.time.value());
  digest.Add(e.decode_steps);
  return digest.value();
}

uint64_t UseOf(const Estimate& e) {
  Digest digest;
  digest.Add(e.throughput.requests_per_second);
  if (e.memory) {
    digest.Add(e.memory->kv_cache.value());
    digest.Add(e.memory->activations.value());
    digest.Add(e.memory->largest_batch.value_or(-1));
    digest.Add(e.memory->free.value_or(Bytes(-1)).value());
  }
  if (e.energy) digest.Add(e.energy->joules_per_request);
  if (e.speculation) digest.Add(e.speculation->verify.value() + e.speculation->draft.value());
  if (e.disaggregation) digest.Add(e.disaggregation->decode_requests_per_second.value_or(-1));
  return digest.value();
}

uint64_t LatenciesOf(const Estimate& e) {
  Digest digest;
  for (const Seconds latency : e.token_latencies) digest.Add(latency.value());
  return digest.value();
}

void Bits(int count, unsigned seed, bool extreme) {
  ExtremeScenarios source(seed);
  for (int i = 0; i < count; ++i) {
    Scenario scenario = extreme ? source.Next() : source.source().Next();
    if (!extreme && i % 9 == 0) scenario.method = Method::kSpeedOfLight;
    const bool latencies = i % 4 == 0 && scenario.workload.output_tokens < 1000 && !scenario.workload.output_lengths;
    const absl::StatusOr<Estimate> e = ComputeEstimate(scenario, {.token_latencies = latencies});
    if (!e.ok()) {
      std::printf("%d refused %s\n", i, std::string(e.status().message()).substr(0, 60).c_str());
      continue;
    }
    std::printf("%d times %016lx use %016lx mfu %a mbu %a list %016lx e2e %.17g %.17g %.17g | %s\n", i, TimesOf(*e),
                UseOf(*e), e->mfu.value_or(-1), e->mbu.value_or(-1), LatenciesOf(*e), e->e2e.time.value(),
                e->ttft.time.value(), e->tpot.time.value(), Features(scenario).c_str());
  }
}

}  // namespace
}  // namespace foretoken

int main(int argc, char** argv) {
  const std::string mode = argc > 1 ? argv[1] : "worst";
  const int count = argc > 2 ? std::atoi(argv[2]) : 10000;
  const unsigned seed = argc > 3 ? static_cast<unsigned>(std::atoi(argv[3])) : 1;
  if (mode == "bits" || mode == "extreme-bits") {
    foretoken::Bits(count, seed, mode == "extreme-bits");
  } else if (mode == "told") {
    foretoken::Told(count, seed);
  } else {
    foretoken::Worst(count, seed, mode != "ordinary");
  }
}
