#include "estimator/simulation/spec.h"

#include <cmath>
#include <string>

#include "absl/strings/str_cat.h"
#include "estimator/base/violations.h"

namespace foretoken {
namespace {

class Faults {
 public:
  // NaN is never between.
  void Between(const std::string& field, double value, double low, double high) {
    if (value >= low && value <= high) return;
    Add(field, absl::StrCat(Name(field), " ", value, "; allowed ", low, " to ", high));
  }
  template <typename T>
  void Between(const std::string& field, const std::optional<T>& value, double low, double high) {
    if (value) Between(field, static_cast<double>(*value), low, high);
  }
  void Add(const std::string& field, const std::string& description) {
    AddViolation("simulation." + field, description, faults_);
  }
  std::vector<FieldViolation> Take() { return std::move(faults_); }

 private:
  static std::string Name(const std::string& field) { return field.substr(field.rfind('.') + 1); }

  std::vector<FieldViolation> faults_;
};

constexpr double kMostTokens = kMaxSimulatedTokens;
constexpr double kMostRate = 1e6;  // requests a second
constexpr double kMostSeconds = 1e9;
constexpr double kMostCv = 100;
constexpr double kLeastCv = 0.01;  // of gaps: gamma draws of a shape of 10,000

void Check(const std::monostate&, const std::string&, Faults&) {}

void Check(const ClosedLoop& loop, const std::string& path, Faults& faults) {
  faults.Between(path + "closed_loop.concurrency", loop.concurrency, 1, kMaxSimulatedSequences);
}

void Check(const OpenLoop& loop, const std::string& path, Faults& faults) {
  faults.Between(path + "open_loop.requests_per_second", loop.requests_per_second, 1e-9, kMostRate);
  faults.Between(path + "open_loop.coefficient_of_variation", loop.cv, kLeastCv, kMostCv);
}

void Check(const Trace& trace, const std::string& path, Faults& faults) {
  const std::string list = path + "trace.requests";
  const size_t count = trace.requests.size();
  if (count < 1 || count > kMaxSimulatedRequests) {
    return faults.Add(list, absl::StrCat(count, " requests; allowed 1 to ", kMaxSimulatedRequests));
  }
  double before = 0;
  for (size_t i = 0; i < count; ++i) {
    const Trace::Request& r = trace.requests[i];
    const std::string one = absl::StrCat(list, "[", i, "].");
    faults.Between(one + "arrival_seconds", r.arrival_seconds, before, kMostSeconds);
    faults.Between(one + "prompt_tokens", r.prompt_tokens, 1, kMostTokens);
    faults.Between(one + "output_tokens", r.output_tokens, 1, kMostTokens);
    if (r.arrival_seconds > before) before = r.arrival_seconds;
  }
}

void Check(const FixedLength& fixed, const std::string& path, Faults& faults) {
  faults.Between(path + "fixed_tokens", fixed.tokens, 1, kMostTokens);
}

void Check(const UniformLengths& lengths, const std::string& path, Faults& faults) {
  faults.Between(path + "uniform.low_tokens", lengths.low, 1, kMostTokens);
  faults.Between(path + "uniform.high_tokens", lengths.high, std::max(1, lengths.low), kMostTokens);
}

void Check(const LogNormalLengths& lengths, const std::string& path, Faults& faults) {
  faults.Between(path + "log_normal.mean_tokens", lengths.mean, 1, kMostTokens);
  faults.Between(path + "log_normal.coefficient_of_variation", lengths.cv, 0, kMostCv);
  faults.Between(path + "log_normal.max_tokens", lengths.max_tokens, 1, kMostTokens);
}

void Check(const OutputLengthDistribution& lengths, const std::string& path, Faults& faults) {
  const std::string of = path + "distribution.";
  faults.Between(of + "mean_tokens", lengths.mean_tokens, 1, kMostTokens);
  faults.Between(of + "max_tokens", lengths.max_tokens, lengths.mean_tokens, kMostTokens);
  if (lengths.quantiles.size() > kMaxSimulatedQuantiles) {
    return faults.Add(path + "distribution.quantiles",
                      absl::StrCat(lengths.quantiles.size(), " quantiles; allowed 0 to ", kMaxSimulatedQuantiles));
  }
  OutputLengthDistribution::Quantile before{.probability = 0, .tokens = 1};
  for (size_t i = 0; i < lengths.quantiles.size(); ++i) {
    const std::string one = absl::StrCat(of, "quantiles[", i, "].");
    const OutputLengthDistribution::Quantile& q = lengths.quantiles[i];
    faults.Between(one + "probability", q.probability, std::nextafter(before.probability, 2), 1);
    faults.Between(one + "tokens", q.tokens, before.tokens, kMostTokens);
    before = q;
  }
}

void Check(const SchedulerSpec& scheduler, Faults& faults) {
  const std::string path = "scheduler.";
  faults.Between(path + "max_num_batched_tokens", scheduler.max_num_batched_tokens, 1, kMostTokens);
  faults.Between(path + "max_num_seqs", scheduler.max_num_seqs, 1, kMaxSimulatedSequences);
  faults.Between(path + "kv_block_tokens", scheduler.kv_block_tokens, 1, 4096);
  faults.Between(path + "kv_tokens", scheduler.kv_tokens, scheduler.kv_block_tokens.value_or(1),
                 static_cast<double>(kMaxSimulatedKvTokens));
}

// What only one policy does.
void CheckOptions(const SchedulerSpec& scheduler, SchedulerPolicy policy, Faults& faults) {
  const auto only = [&](const char* field, bool stated, SchedulerPolicy allowed, const char* name) {
    if (!stated || policy == allowed) return;
    faults.Add(absl::StrCat("scheduler.", field), absl::StrCat(field, " is given; allowed with ", name, " only"));
  };
  only("mixed_chunk", scheduler.mixed_chunk.has_value(), SchedulerPolicy::kPrefillFirst, "prefill first");
  only("chunked_prompt", scheduler.chunked_prompt.has_value(), SchedulerPolicy::kInFlight, "in-flight batching");
  only("max_utilization", scheduler.max_utilization.has_value(), SchedulerPolicy::kInFlight, "in-flight batching");
}

}  // namespace

std::vector<FieldViolation> FaultsOfOptions(const SchedulerSpec& scheduler, SchedulerPolicy policy) {
  Faults faults;
  CheckOptions(scheduler, policy, faults);
  return faults.Take();
}

std::vector<FieldViolation> FaultsOf(const SimulationSpec& spec) {
  Faults faults;
  std::visit([&](const auto& arrivals) { Check(arrivals, "", faults); }, spec.arrivals);
  std::visit([&](const auto& lengths) { Check(lengths, "prompt_lengths.", faults); }, spec.prompts);
  std::visit([&](const auto& lengths) { Check(lengths, "output_lengths.", faults); }, spec.outputs);
  Check(spec.scheduler, faults);
  if (spec.scheduler.policy) CheckOptions(spec.scheduler, *spec.scheduler.policy, faults);
  faults.Between("requests", spec.requests, 1, kMaxSimulatedRequests);
  faults.Between("warmup_requests", spec.warmup_requests, 0, kMaxSimulatedRequests);
  faults.Between("max_steps", static_cast<double>(spec.max_steps), 1, static_cast<double>(kMaxSimulatedSteps));
  faults.Between("relative_error", spec.relative_error, 1e-4, 1);
  return faults.Take();
}

}  // namespace foretoken
