// Live load, SLO and method.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "server/catalog/spec/timestamp.h"
#include "server/rpc/wire/convert.h"

namespace foretoken::rpc {
namespace {

constexpr absl::Duration kClockSkew = absl::Seconds(5);
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
  const absl::Time time = catalog::TimeOf(observed);
  if (time > now + kClockSkew) {
    fields.Add("time_observed", absl::StrCat("time_observed is ", absl::FormatDuration(time - now),
                                             " in the future; allowed up to ", absl::FormatDuration(kClockSkew)));
  }
  return std::max(absl::ZeroDuration(), now - time);
}

Slo ReadSlo(const v1::Slo& message, FieldChecker& fields) {
  Slo slo;
  if (message.has_max_ttft_seconds()) {
    slo.max_ttft = Seconds(fields.Positive("max_ttft_seconds", message.max_ttft_seconds()));
  }
  if (message.has_max_tpot_seconds()) {
    slo.max_tpot = Seconds(fields.Positive("max_tpot_seconds", message.max_tpot_seconds()));
  }
  if (message.has_max_e2e_seconds()) {
    slo.max_e2e = Seconds(fields.Positive("max_e2e_seconds", message.max_e2e_seconds()));
  }
  return slo;
}

Method ReadMethod(v1::Method method, FieldChecker& fields) {
  return static_cast<Method>(fields.Enum("method", method, v1::Method_MAX));
}

}  // namespace foretoken::rpc
