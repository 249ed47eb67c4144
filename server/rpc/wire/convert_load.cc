// Live load, SLO and method.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "server/catalog/spec/timestamp.h"
#include "server/rpc/wire/convert.h"

namespace foretoken::rpc {
namespace {

constexpr int64_t kFirstSecond = -62'135'596'800;
constexpr int64_t kLastSecond = 253'402'300'799;

void ReadSequences(const v1::LiveLoad& message, FieldChecker& fields, LiveLoad& load) {
  if (message.has_running_sequences()) {
    load.running_sequences = fields.Int("running_sequences", message.running_sequences(), 0, kMaxBatch);
  }
  if (message.has_running_context_tokens()) {
    load.running_context_tokens =
        fields.Between("running_context_tokens", message.running_context_tokens(), 0, kMaxTokens);
  }
  if (message.has_remaining_output_tokens()) {
    load.remaining_output_tokens =
        fields.Between("remaining_output_tokens", message.remaining_output_tokens(), 0, kMaxTokens);
  }
  if (message.has_waiting_requests()) {
    load.waiting_requests = fields.Int("waiting_requests", message.waiting_requests(), 0, kMaxBatch);
  }
}

constexpr int kMostRunning = 1024;  // sequences that are listed

void RefuseBeside(const v1::LiveLoad& message, FieldChecker& fields) {
  const auto refuse = [&fields](bool has, const char* field) {
    if (has) fields.Add(field, absl::StrCat(field, " beside running; allowed: one of the two"));
  };
  refuse(message.has_running_sequences(), "running_sequences");
  refuse(message.has_running_context_tokens(), "running_context_tokens");
  refuse(message.has_remaining_output_tokens(), "remaining_output_tokens");
  refuse(message.has_least_remaining_output_tokens(), "least_remaining_output_tokens");
}

// Sequences that are listed one by one: their number, their mean context, and what remains of each.
void ReadRunning(const v1::LiveLoad& message, FieldChecker& fields, LiveLoad& load) {
  const int count = message.running_size();
  if (count == 0) return;
  RefuseBeside(message, fields);
  if (!fields.Size("running", count, kMostRunning)) return;
  double context = 0;
  double remaining = 0;
  load.remaining_each.clear();
  for (int i = 0; i < count; ++i) {
    const v1::LiveLoad::RunningSequence& sequence = message.running(i);
    const auto read = [&fields, i](const char* name, int value) {
      if (value >= 0 && value <= kMaxTokens) return value;
      return fields.Int(absl::StrCat("running[", i, "].", name), value, 0, kMaxTokens);
    };
    context += read("context_tokens", sequence.context_tokens());
    load.remaining_each.push_back(read("remaining_output_tokens", sequence.remaining_output_tokens()));
    remaining += load.remaining_each.back();
  }
  std::sort(load.remaining_each.begin(), load.remaining_each.end());
  load.running_sequences = count;
  load.running_context_tokens = context / count;
  load.remaining_output_tokens = remaining / count;
  load.least_remaining_output_tokens = load.remaining_each.front();
}

void ReadLeastRemaining(const v1::LiveLoad& message, FieldChecker& fields, LiveLoad& load) {
  if (!message.has_least_remaining_output_tokens()) return;
  const double least = message.least_remaining_output_tokens();
  if (!message.has_remaining_output_tokens()) {
    fields.Add("least_remaining_output_tokens",
               "least_remaining_output_tokens without remaining_output_tokens; "
               "allowed: beside it");
    return;
  }
  load.least_remaining_output_tokens =
      fields.Between("least_remaining_output_tokens", least, 0, load.remaining_output_tokens.value_or(0));
}

void ReadQueues(const v1::LiveLoad& message, FieldChecker& fields, LiveLoad& load) {
  if (message.has_queued_prefill_tokens()) {
    load.queued_prefill_tokens =
        fields.Count("queued_prefill_tokens", message.queued_prefill_tokens(), kMaxReplicaTokens);
  }
  if (message.has_in_flight_prefill_tokens()) {
    load.in_flight_prefill_tokens =
        fields.Count("in_flight_prefill_tokens", message.in_flight_prefill_tokens(), kMaxReplicaTokens);
  }
  if (message.has_free_kv_tokens())
    load.free_kv_tokens = fields.Count("free_kv_tokens", message.free_kv_tokens(), kMaxReplicaTokens);
  if (!message.has_kv_cache_usage_ratio()) return;
  load.kv_cache_usage = fields.Between("kv_cache_usage_ratio", message.kv_cache_usage_ratio(), 0, 1);
  if (message.has_free_kv_tokens()) {
    fields.Add("kv_cache_usage_ratio", "kv_cache_usage_ratio beside free_kv_tokens; allowed: one of the two");
  }
}

void ReadLimits(const v1::LiveLoad& message, FieldChecker& fields, LiveLoad& load) {
  if (message.has_max_num_seqs()) {
    load.max_num_seqs = fields.Int("max_num_seqs", message.max_num_seqs(), 1, kMaxBatch);
    if (load.running_sequences > *load.max_num_seqs) {
      fields.Add("running_sequences", absl::StrCat("running_sequences ", *load.running_sequences,
                                                   "; allowed up to max_num_seqs = ", *load.max_num_seqs));
    }
  }
  if (message.has_max_num_batched_tokens()) {
    load.max_num_batched_tokens = fields.Int("max_num_batched_tokens", message.max_num_batched_tokens(), 1, kMaxTokens);
  }
  if (message.has_kv_block_tokens())
    load.kv_block_tokens = fields.Int("kv_block_tokens", message.kv_block_tokens(), 1, kMaxTokens);
}

}  // namespace

LiveLoad ReadLiveLoad(const v1::LiveLoad& message, FieldChecker& fields) {
  LiveLoad load;
  ReadSequences(message, fields, load);
  ReadLeastRemaining(message, fields, load);
  ReadRunning(message, fields, load);
  ReadQueues(message, fields, load);
  ReadLimits(message, fields, load);
  return load;
}

absl::Duration ReadLiveLoadAge(const v1::LiveLoad& message, absl::Time now, FieldChecker& fields) {
  const auto& observed = message.time_observed();
  if (observed.nanos() < 0 || observed.nanos() >= 1'000'000'000) {
    fields.Add("time_observed.nanos", absl::StrCat("nanos ", observed.nanos(), "; allowed 0 to 999999999"));
    return absl::ZeroDuration();
  }
  if (observed.seconds() < kFirstSecond || observed.seconds() > kLastSecond) {
    fields.Add("time_observed.seconds", absl::StrCat("seconds ", observed.seconds(), "; allowed ", kFirstSecond, " to ",
                                                     kLastSecond, ", the years 1 to 9999"));
    return absl::ZeroDuration();
  }
  return now - catalog::TimeOf(observed);
}

namespace {

// The bounds on percentiles: four of each ServedTime in turn, in the order of Percentile.
struct PercentileField {
  const char* name;
  bool (v1::Slo::*has)() const;
  double (v1::Slo::*value)() const;
};
constexpr PercentileField kPercentileFields[] = {
    {"max_ttft_p50_seconds", &v1::Slo::has_max_ttft_p50_seconds, &v1::Slo::max_ttft_p50_seconds},
    {"max_ttft_p90_seconds", &v1::Slo::has_max_ttft_p90_seconds, &v1::Slo::max_ttft_p90_seconds},
    {"max_ttft_p95_seconds", &v1::Slo::has_max_ttft_p95_seconds, &v1::Slo::max_ttft_p95_seconds},
    {"max_ttft_p99_seconds", &v1::Slo::has_max_ttft_p99_seconds, &v1::Slo::max_ttft_p99_seconds},
    {"max_tpot_p50_seconds", &v1::Slo::has_max_tpot_p50_seconds, &v1::Slo::max_tpot_p50_seconds},
    {"max_tpot_p90_seconds", &v1::Slo::has_max_tpot_p90_seconds, &v1::Slo::max_tpot_p90_seconds},
    {"max_tpot_p95_seconds", &v1::Slo::has_max_tpot_p95_seconds, &v1::Slo::max_tpot_p95_seconds},
    {"max_tpot_p99_seconds", &v1::Slo::has_max_tpot_p99_seconds, &v1::Slo::max_tpot_p99_seconds},
    {"max_itl_p50_seconds", &v1::Slo::has_max_itl_p50_seconds, &v1::Slo::max_itl_p50_seconds},
    {"max_itl_p90_seconds", &v1::Slo::has_max_itl_p90_seconds, &v1::Slo::max_itl_p90_seconds},
    {"max_itl_p95_seconds", &v1::Slo::has_max_itl_p95_seconds, &v1::Slo::max_itl_p95_seconds},
    {"max_itl_p99_seconds", &v1::Slo::has_max_itl_p99_seconds, &v1::Slo::max_itl_p99_seconds},
    {"max_e2e_p50_seconds", &v1::Slo::has_max_e2e_p50_seconds, &v1::Slo::max_e2e_p50_seconds},
    {"max_e2e_p90_seconds", &v1::Slo::has_max_e2e_p90_seconds, &v1::Slo::max_e2e_p90_seconds},
    {"max_e2e_p95_seconds", &v1::Slo::has_max_e2e_p95_seconds, &v1::Slo::max_e2e_p95_seconds},
    {"max_e2e_p99_seconds", &v1::Slo::has_max_e2e_p99_seconds, &v1::Slo::max_e2e_p99_seconds},
};
static_assert(std::size(kPercentileFields) == kServedTimes * kPercentiles);

void ReadPercentiles(const v1::Slo& message, FieldChecker& fields, Slo& slo) {
  for (size_t i = 0; i < std::size(kPercentileFields); ++i) {
    const PercentileField& field = kPercentileFields[i];
    if (!(message.*field.has)()) continue;
    slo.percentiles.push_back({.time = static_cast<ServedTime>(i / kPercentiles),
                               .percentile = static_cast<Percentile>(i % kPercentiles),
                               .allowed = Seconds(fields.Positive(field.name, (message.*field.value)()))});
  }
  if (message.has_simulated_steps()) {
    slo.simulated_steps = fields.Int("simulated_steps", message.simulated_steps(), 1, kMostSimulatedSteps);
  } else if (!slo.percentiles.empty()) {
    fields.Add("simulated_steps", absl::StrCat("a bound on a percentile needs a simulation; allowed simulated_steps 1 "
                                               "to ",
                                               kMostSimulatedSteps, ", the steps that it may take"));
  }
}

}  // namespace

Slo ReadSlo(const v1::Slo& message, FieldChecker& fields) {
  Slo slo;
  static_assert(v1::DecideBy_ARRAYSIZE == 3);
  const int decide_by = fields.Enum("decide_by", message.decide_by(), v1::DecideBy_MAX);
  slo.decide_by = decide_by == v1::DECIDE_BY_BAND ? DecideBy::kBand : DecideBy::kPoint;
  if (message.has_max_ttft_seconds()) {
    slo.max_ttft = Seconds(fields.Positive("max_ttft_seconds", message.max_ttft_seconds()));
  }
  if (message.has_max_tpot_seconds()) {
    slo.max_tpot = Seconds(fields.Positive("max_tpot_seconds", message.max_tpot_seconds()));
  }
  if (message.has_max_e2e_seconds()) {
    slo.max_e2e = Seconds(fields.Positive("max_e2e_seconds", message.max_e2e_seconds()));
  }
  ReadPercentiles(message, fields, slo);
  return slo;
}

Method ReadMethod(v1::Method method, FieldChecker& fields) {
  return static_cast<Method>(fields.Enum("method", method, v1::Method_MAX));
}

}  // namespace foretoken::rpc
