// The secondary deployments of a scenario: the draft model's and the prefill pool's.
#include "absl/strings/str_cat.h"
#include "server/rpc/wire/convert.h"

namespace foretoken::rpc {
namespace {

constexpr int kMaxDraftTokens = 64;
constexpr int kMaxReplicas = 1'000'000;

}  // namespace

Speculation ReadSpeculation(const v1::SpeculativeDecoding& message, FieldChecker& fields) {
  Speculation speculation;
  if (!message.has_draft_tokens()) fields.Required("draft_tokens");
  if (!message.has_acceptance_rate()) fields.Required("acceptance_rate");
  speculation.draft_tokens = fields.Int("draft_tokens", message.draft_tokens(), 0, kMaxDraftTokens);
  speculation.acceptance = fields.Between("acceptance_rate", message.acceptance_rate(), 0, 1);
  speculation.follows = !message.has_draft_deployment();
  return speculation;
}

Disaggregation ReadDisaggregation(const v1::DisaggregatedPrefill& message, FieldChecker& fields) {
  Disaggregation d;
  const auto replicas = [&fields](const char* field, bool given, int value) {
    return given ? fields.Int(field, value, 1, kMaxReplicas) : 1;
  };
  d.batch_size = replicas("batch_size", message.has_batch_size(), message.batch_size());
  d.prefill_replicas = replicas("prefill_replicas", message.has_prefill_replicas(), message.prefill_replicas());
  d.decode_replicas = replicas("decode_replicas", message.has_decode_replicas(), message.decode_replicas());
  d.layerwise_transfer = message.layerwise_transfer();
  d.follows = !message.has_deployment();
  if (message.has_transfer_bytes_per_second()) {
    d.transfer = BytesPerSecond(fields.Positive("transfer_bytes_per_second", message.transfer_bytes_per_second()));
  }
  if (message.has_transfer_latency_seconds()) {
    d.transfer_latency = Seconds(fields.NotNegative("transfer_latency_seconds", message.transfer_latency_seconds()));
  }
  return d;
}

}  // namespace foretoken::rpc
