#include "estimator/serving/replica_queue.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "estimator/base/errors.h"
#include "estimator/phases/capacity.h"
#include "estimator/phases/memory_use.h"

namespace foretoken {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// `count` prompts with `tokens` in all. If only one of both is reported, the prompts are as long as the request's: all
// of it, because what the cache holds of this prompt says nothing of the others.
Prompts PromptsOf(double count, std::optional<double> tokens, const Workload& workload) {
  const double like_this = std::max<double>(1, workload.prompt_tokens);
  if (!tokens) return {.count = count, .tokens = like_this};
  if (count <= 0) count = std::ceil(*tokens / like_this);
  return {.count = count, .tokens = count > 0 ? *tokens / count : 0};
}

// Partially prefilled prompts hold a batch slot and memory, so that no more of them exist than fit beside the running
// sequences.
Prompts Admitted(const LiveLoad& load, const Workload& workload, double largest_batch) {
  const Prompts prompts = PromptsOf(0, load.in_flight_prefill_tokens.value_or(0), workload);
  if (prompts.count <= 0) return prompts;
  const double most = load.max_num_seqs ? std::min<double>(*load.max_num_seqs, largest_batch) : largest_batch;
  const double slots = std::max(1.0, most - load.running_sequences.value_or(0));
  return PromptsOf(std::min(prompts.count, slots), load.in_flight_prefill_tokens, workload);
}

// Holds under every batching policy, because an engine with a live load works in steps.
double StepTokens(const Deployment& deployment, const LiveLoad& load) {
  const std::optional<int>& chunk = deployment.prefill_chunk_tokens;
  if (!load.max_num_batched_tokens) return chunk.value_or(kStepTokens);
  const int left = std::max(1, *load.max_num_batched_tokens - load.running_sequences.value_or(0));
  return std::min(left, chunk.value_or(left));
}

// KV cache, in tokens of the prompts' blocks.
struct KvRoom {
  double free = 0;      // now
  double after = 0;     // when the running sequences have completed
  double needed = 0;    // by all prompts without a batch slot
  double smallest = 0;  // of these prompts, at least 1
  double largest = 0;
};

// The room that memory leaves beside the running sequences, for an engine that does not report it. Counted in bytes,
// because a layer with a sliding window keeps only the window of a long sequence.
KvRoom RoomInMemory(const Replica& replica, const ReplicaQueue& queue) {
  const Workload& w = replica.scenario.workload;
  const Capacity& c = replica.capacity;
  const Shard& shard = replica.model.shard;
  const Bytes per_token = c.kv_per_sequence / (static_cast<double>(w.prompt_tokens) + w.output_tokens);
  const double sequences = queue.running + queue.in_flight.count + queue.waiting.count + queue.arriving.count;
  const Bytes all = RoomForKv(c, c.activations(std::min(sequences, c.largest_batch)));
  const Bytes held = queue.running * KvPerSequence(shard, std::ceil(queue.context));
  return {.free = std::floor(std::max(Bytes(0), all - held) / per_token), .after = std::floor(all / per_token)};
}

KvRoom RoomFor(const Replica& replica, const ReplicaQueue& queue) {
  const Workload& w = replica.scenario.workload;
  const LiveLoad& load = *replica.scenario.live_load;
  const auto blocks = [&](double tokens) { return std::ceil(tokens / load.kv_block_tokens) * load.kv_block_tokens; };
  const double own = blocks(w.prefix_load ? w.prompt_tokens : w.fresh_tokens());
  const double waiting = blocks(queue.waiting.tokens);
  KvRoom room = RoomInMemory(replica, queue);
  if (load.free_kv_tokens) {
    room.free = *load.free_kv_tokens;
    room.after = room.free + queue.running * queue.context;
  } else if (load.kv_cache_usage) {
    room.free = std::floor((1 - *load.kv_cache_usage) * room.after);
    room.after = std::min(room.after, room.free + queue.running * queue.context);
  }
  room.needed = queue.waiting.count * waiting + queue.arriving.count * own;
  room.smallest = std::max(1.0, queue.waiting.count > 0 ? std::min(waiting, own) : own);
  room.largest = queue.waiting.count > 0 ? std::max(waiting, own) : own;
  return room;
}

// Compares the tokens that sequences add while the request decodes with the room that is left.
void WarnOfPreemption(const Replica& replica, const ReplicaQueue& b, const KvRoom& room,
                      std::vector<Warning>& warnings) {
  const double steps = replica.scenario.workload.output_tokens;
  const double joining = b.in_flight.count + b.waiting.count + b.arriving.count;
  const double growth = b.running * std::min(steps, b.remaining.value_or(steps)) + joining * steps;
  const double left = room.free - room.needed;
  if (growth <= left) return;
  warnings.push_back({WarningCode::kWaves,
                      absl::StrCat("the KV cache fills while decoding: up to ", growth, " tokens more, ", left,
                                   " left; the engine then preempts, which is not counted"),
                      "live_load.free_kv_tokens"});
}

void WarnOfWait(double prompts, std::string_view field, std::vector<Warning>& warnings) {
  const absl::string_view full(field.data(), field.size());
  warnings.push_back({WarningCode::kWaves,
                      absl::StrCat(full, " leaves no room for all of ", prompts,
                                   " prompts; the request waits until others have ended"),
                      std::string(field)});
}

// Sequences like the request have made half of their output on average.
void AssumeRemaining(const Workload& workload, ReplicaQueue& queue, std::vector<Warning>& warnings) {
  queue.remaining = workload.output_tokens / 2.0;
  warnings.push_back({WarningCode::kFigureAbsent,
                      absl::StrCat("remaining_output_tokens is absent, and the request waits until a running sequence "
                                   "ends; taken as half of this request's output, ",
                                   *queue.remaining),
                      "live_load.remaining_output_tokens"});
}

// Warns of a guessed number of waiting requests, because it decides which of them find a batch slot.
Prompts Waiting(const LiveLoad& load, const Workload& workload, std::vector<Warning>& warnings) {
  const double stated = load.waiting_requests.value_or(0);
  const double tokens = load.queued_prefill_tokens.value_or(0);
  if (stated > 0) return PromptsOf(stated, load.queued_prefill_tokens, workload);
  const Prompts guessed = PromptsOf(0, tokens, workload);
  if (tokens > 0) {
    warnings.push_back({WarningCode::kFigureAbsent,
                        absl::StrCat("waiting_requests is absent or 0 beside ", tokens,
                                     " queued_prefill_tokens; taken as ", guessed.count, ", as long as this request"),
                        "live_load.waiting_requests"});
  }
  return guessed;
}

absl::Status NoRoomEver(const KvRoom& room) {
  return Refusal(Reason::kOutOfMemory, "live_load.free_kv_tokens",
                 absl::StrCat("a prompt needs ", room.largest, " tokens of KV cache; there are ", room.free, ", and ",
                              room.after, " when the running sequences have ended"));
}

// REQUIRES: not all prompts have a batch slot, and the running sequences complete.
BatchSlots WaitForSlots(const Workload& workload, const ReplicaQueue& b, const KvRoom& room, double most) {
  const double prompts = b.waiting.count + b.arriving.count;
  const double admitted = b.running + b.in_flight.count;
  const Completions completions = b.WhenTheyEnd();
  const double hold = std::max(1.0, static_cast<double>(workload.output_tokens));
  // Room counts in whole prompts, as if all were as long as the longest.
  const double prompt = std::max(1.0, room.largest);
  const auto whole = [&](double tokens) { return std::floor(tokens / prompt) * prompt; };
  const double each = b.running > 0 ? (room.after - room.free) / b.running : 0;  // tokens of a running sequence
  const double again = b.running > 0 ? (whole(room.after) - whole(room.free)) / b.running : 0;
  const SlotRelease kv{
      .completions = completions, .each = each, .again = again, .joined = whole(room.free), .hold = hold};
  BatchSlots slots{.must_wait = true, .steps = kv.StepsUntil(room.needed - room.free), .batch = most};
  if (most < kInfinity) {
    const SlotRelease batch{.completions = completions, .joined = std::max(0.0, most - b.running), .hold = hold};
    // If running sequences take all slots, they include the partially prefilled prompts.
    slots.steps = std::max(slots.steps, batch.StepsUntil(std::min(admitted, most) + prompts - most));
  }
  const double now = std::floor(room.free / room.smallest);
  slots.taken = std::min(std::max(most, admitted), admitted + std::min(prompts, now));
  slots.kv = b.in_flight.count + now;
  slots.kv_per_ended = each / room.smallest;
  return slots;
}

}  // namespace

ReplicaQueue ReadReplicaQueue(const Replica& replica, std::vector<Warning>& warnings) {
  const Scenario& scenario = replica.scenario;
  const Workload& w = scenario.workload;
  const LiveLoad& load = *scenario.live_load;
  const double usual = w.mean_context();
  const bool guessed = load.running_sequences.value_or(0) > 0 && !load.running_context_tokens;
  if (guessed) {
    warnings.push_back({WarningCode::kFigureAbsent,
                        absl::StrCat("running_context_tokens is absent; taken as this request's mean of ", usual),
                        "live_load.running_context_tokens"});
  }
  return {.running = static_cast<double>(load.running_sequences.value_or(0)),
          .context = load.running_context_tokens.value_or(usual),
          .remaining = load.remaining_output_tokens,
          .least_remaining = load.least_remaining_output_tokens,
          .remaining_each = load.remaining_each.empty() ? nullptr : &load.remaining_each,
          .in_flight = Admitted(load, w, replica.capacity.largest_batch),
          .waiting = Waiting(load, w, warnings),
          .arriving = {.count = replica.capacity.batch, .tokens = static_cast<double>(w.fresh_tokens())},
          .step_tokens = StepTokens(scenario.deployment, load)};
}

double BatchSlots::Joined(double running, double left) const {
  return std::max(1.0, std::min(batch - left, std::floor(kv + kv_per_ended * (running - left))));
}

absl::StatusOr<BatchSlots> TakeBatchSlots(const Replica& replica, ReplicaQueue& queue, std::vector<Warning>& warnings) {
  const double prompts = queue.waiting.count + queue.arriving.count;
  const KvRoom room = RoomFor(replica, queue);
  const std::optional<int>& limit = replica.scenario.live_load->max_num_seqs;
  const double most = limit ? *limit : kInfinity;
  const double slots = std::max(0.0, most - queue.running - queue.in_flight.count);
  if (prompts <= slots && room.needed <= room.free) {
    WarnOfPreemption(replica, queue, room, warnings);
    return BatchSlots{};
  }
  if (room.after < room.largest) return NoRoomEver(room);
  const bool batch_is_fuller = slots * room.needed < prompts * room.free;
  const std::string_view full = batch_is_fuller ? "live_load.max_num_seqs" : "live_load.free_kv_tokens";
  WarnOfWait(prompts, full, warnings);
  if (queue.running > 0 && !queue.remaining) AssumeRemaining(replica.scenario.workload, queue, warnings);
  return WaitForSlots(replica.scenario.workload, queue, room, most);
}

}  // namespace foretoken
