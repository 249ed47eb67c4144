#include <algorithm>
#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "server/rpc/wire/convert.h"

namespace foretoken::rpc {
namespace {

constexpr int kMaxQuantiles = 1'000;

// The API's enums start with "unspecified", which asks for the first value of the core model's.
template <typename E>
E DefaultToFirst(int value) {
  return static_cast<E>(value == 0 ? 0 : value - 1);
}

void ReadTokens(const v1::Workload& message, FieldChecker& fields, Workload& workload) {
  if (!message.has_prompt_tokens()) fields.Required("prompt_tokens");
  if (!message.has_output_tokens()) fields.Required("output_tokens");
  if (message.has_batch_size()) workload.batch_size = fields.Int("batch_size", message.batch_size(), 1, kMaxBatch);
  if (message.has_prompt_tokens()) {
    workload.prompt_tokens = fields.Int("prompt_tokens", message.prompt_tokens(), 0, kMaxTokens);
  }
  if (message.has_output_tokens()) {
    workload.output_tokens = fields.Int("output_tokens", message.output_tokens(), 1, kMaxTokens);
  }
}

void ReadPrefix(const v1::Workload& message, FieldChecker& fields, Workload& workload) {
  if (message.has_prefix_load_bytes_per_second()) {
    workload.prefix_load =
        BytesPerSecond(fields.Positive("prefix_load_bytes_per_second", message.prefix_load_bytes_per_second()));
  }
  if (!message.has_cached_prefix_tokens()) return;
  workload.cached_prefix_tokens = fields.Int("cached_prefix_tokens", message.cached_prefix_tokens(), 0, kMaxTokens);
  if (workload.cached_prefix_tokens <= 0) return;
  if (message.has_prompt_tokens() && workload.cached_prefix_tokens >= workload.prompt_tokens) {
    fields.Add("cached_prefix_tokens", absl::StrCat("cached_prefix_tokens ", workload.cached_prefix_tokens,
                                                    "; allowed below prompt_tokens = ", workload.prompt_tokens));
  }
  if (message.kv_cache_mode() == v1::KV_CACHE_MODE_NONE) {
    fields.Add("cached_prefix_tokens", absl::StrCat("cached_prefix_tokens ", workload.cached_prefix_tokens,
                                                    "; with kv_cache_mode none nothing is cached: allowed 0"));
  }
}

// The same rule for both columns of the quantiles. Whether it is kept.
bool CheckRising(const OutputLengthDistribution& lengths, FieldChecker& fields) {
  bool rising = true;
  for (size_t i = 1; i < lengths.quantiles.size(); ++i) {
    const auto& before = lengths.quantiles[i - 1];
    const auto& here = lengths.quantiles[i];
    if (here.probability > before.probability && here.tokens >= before.tokens) continue;
    rising = false;
    fields.Add(absl::StrCat("output_length_distribution.quantiles[", i, "]"),
               absl::StrCat("(", here.probability, ", ", here.tokens, " tokens) after (", before.probability, ", ",
                            before.tokens, " tokens); allowed in rising order"));
  }
  return rising;
}

// The longest is as long as any quantile.
void CheckBelowLongest(const OutputLengthDistribution& lengths, FieldChecker& fields) {
  if (!lengths.max_tokens) return;
  for (size_t i = 0; i < lengths.quantiles.size(); ++i) {
    if (lengths.quantiles[i].tokens <= *lengths.max_tokens) continue;
    fields.Add(
        absl::StrCat("output_length_distribution.quantiles[", i, "].tokens"),
        absl::StrCat("tokens ", lengths.quantiles[i].tokens, "; allowed up to max_tokens = ", *lengths.max_tokens));
  }
}

// Between two quantiles lie lengths of no fewer tokens than the first and no more than the second.
void CheckMeanAmongQuantiles(const OutputLengthDistribution& lengths, FieldChecker& fields) {
  if (lengths.quantiles.empty()) return;
  OutputLengthDistribution::Quantile before{.probability = 0, .tokens = 1};
  double least = 0;
  double most = 0;
  for (const auto& here : lengths.quantiles) {
    least += (here.probability - before.probability) * before.tokens;
    most += (here.probability - before.probability) * here.tokens;
    before = here;
  }
  const double beyond = 1 - before.probability;
  least += beyond * before.tokens;
  if (beyond > 0) most += beyond * lengths.max_tokens.value_or(std::numeric_limits<double>::infinity());
  constexpr double kRounding = 1e-9;
  if (lengths.mean_tokens >= least * (1 - kRounding) && lengths.mean_tokens <= most * (1 + kRounding)) return;
  fields.Add(
      "output_length_distribution.mean_tokens",
      absl::StrCat("mean_tokens ", lengths.mean_tokens, "; the quantiles allow ", std::isinf(most) ? "at least " : "",
                   least, std::isinf(most) ? "" : absl::StrCat(" to ", most)));
}

OutputLengthDistribution ReadOutputLengths(const v1::OutputLengthDistribution& message, FieldChecker& fields) {
  OutputLengthDistribution lengths;
  lengths.mean_tokens = fields.Between("output_length_distribution.mean_tokens", message.mean_tokens(), 1, kMaxTokens);
  if (message.has_max_tokens()) {
    lengths.max_tokens = fields.Between("output_length_distribution.max_tokens", message.max_tokens(), 1, kMaxTokens);
    if (*lengths.max_tokens < lengths.mean_tokens) {
      fields.Add("output_length_distribution.max_tokens",
                 absl::StrCat("max_tokens ", *lengths.max_tokens, "; allowed mean_tokens = ", lengths.mean_tokens,
                              " or more"));
    }
  }
  if (message.quantiles_size() > kMaxQuantiles) {
    fields.Add("output_length_distribution.quantiles",
               absl::StrCat(message.quantiles_size(), " quantiles; allowed at most ", kMaxQuantiles));
    return lengths;
  }
  for (int i = 0; i < message.quantiles_size(); ++i) {
    const std::string path = absl::StrCat("output_length_distribution.quantiles[", i, "].");
    lengths.quantiles.push_back(
        {.probability = fields.Share(path + "probability", message.quantiles(i).probability()),
         .tokens = fields.Between(path + "tokens", message.quantiles(i).tokens(), 1, kMaxTokens)});
  }
  if (CheckRising(lengths, fields)) {
    CheckBelowLongest(lengths, fields);
    CheckMeanAmongQuantiles(lengths, fields);
  }
  return lengths;
}

void ReadArrivals(const v1::Workload& message, FieldChecker& fields, Workload& workload) {
  if (message.has_prompt_arrival_tokens_per_second()) {
    workload.prompt_arrival_tokens_per_second =
        fields.Positive("prompt_arrival_tokens_per_second", message.prompt_arrival_tokens_per_second());
  } else if (message.kv_cache_mode() == v1::KV_CACHE_MODE_PIPELINED_PROMPT_CACHE) {
    fields.Add("prompt_arrival_tokens_per_second", "required by kv_cache_mode pipelined prompt cache");
  }
  if (message.has_request_rate_per_second()) {
    workload.request_rate_per_second = fields.Positive("request_rate_per_second", message.request_rate_per_second());
  }
  if (message.has_batching_window_seconds()) {
    workload.batching_window =
        Seconds(fields.NotNegative("batching_window_seconds", message.batching_window_seconds()));
  }
  if (message.has_tokenizer_tokens_per_second()) {
    workload.tokenizer_tokens_per_second =
        fields.Positive("tokenizer_tokens_per_second", message.tokenizer_tokens_per_second());
  }
}

// How far lengths lie from their mean: none is below `least`.
int ReadSpread(const char* field, int spread, const char* mean_field, int mean, int least, FieldChecker& fields) {
  const int read = fields.Int(field, spread, 0, kMaxTokens);
  if (read <= mean - least) return read;
  fields.Add(field, absl::StrCat(field, " ", read, "; allowed 0 to ", mean_field, least > 0 ? " - 1" : "", " = ",
                                 std::max(0, mean - least)));
  return read;
}

void ReadPolicies(const v1::Workload& message, FieldChecker& fields, Workload& workload) {
  workload.batching =
      DefaultToFirst<BatchingPolicy>(fields.Enum("batching_policy", message.batching_policy(), v1::BatchingPolicy_MAX));
  workload.kv_cache_mode =
      DefaultToFirst<KvCacheMode>(fields.Enum("kv_cache_mode", message.kv_cache_mode(), v1::KvCacheMode_MAX));
  workload.capacity_policy =
      DefaultToFirst<CapacityPolicy>(fields.Enum("capacity_policy", message.capacity_policy(), v1::CapacityPolicy_MAX));
  workload.expert_routing =
      DefaultToFirst<ExpertRouting>(fields.Enum("expert_routing", message.expert_routing(), v1::ExpertRouting_MAX));
}

}  // namespace

void ReadLoop(const LoopFields& loop, FieldChecker& fields, Workload& workload) {
  if (loop.prompt_spread_tokens) {
    workload.prompt_spread_tokens = ReadSpread("prompt_spread_tokens", *loop.prompt_spread_tokens, "prompt_tokens",
                                               workload.prompt_tokens, 0, fields);
  }
  if (loop.output_spread_tokens) {
    workload.output_spread_tokens = ReadSpread("output_spread_tokens", *loop.output_spread_tokens, "output_tokens",
                                               workload.output_tokens, 1, fields);
  }
  if (!loop.closed_loop_requests) return;
  constexpr int kMaxRequests = 1'000'000'000;
  workload.closed_loop_requests = fields.Int("closed_loop_requests", *loop.closed_loop_requests, 1, kMaxRequests);
  if (*workload.closed_loop_requests >= workload.batch_size) return;
  fields.Add("closed_loop_requests", absl::StrCat("closed_loop_requests ", *workload.closed_loop_requests,
                                                  "; allowed batch_size = ", workload.batch_size, " or more"));
}

Workload ReadWorkload(const v1::Workload& message, FieldChecker& fields) {
  Workload workload;
  ReadTokens(message, fields, workload);
  ReadPrefix(message, fields, workload);
  ReadArrivals(message, fields, workload);
  ReadPolicies(message, fields, workload);
  ReadLoop(LoopFieldsOf(message), fields, workload);
  if (message.has_output_length_distribution() && workload.output_spread_tokens > 0) {
    fields.Add("output_spread_tokens", absl::StrCat("output_spread_tokens ", workload.output_spread_tokens,
                                                    "; beside output_length_distribution: allowed 0"));
  }
  if (message.has_output_length_distribution()) {
    workload.output_lengths = ReadOutputLengths(message.output_length_distribution(), fields);
  }
  if (message.has_parallel_prompt_tokens()) {
    workload.parallel_prompt_tokens =
        fields.Int("parallel_prompt_tokens", message.parallel_prompt_tokens(), 1, kMaxTokens);
  }
  if (message.has_compute_utilization()) {
    workload.compute_utilization = fields.Share("compute_utilization", message.compute_utilization());
  }
  workload.kv_cache_written_back = message.kv_cache_written_back();
  return workload;
}

}  // namespace foretoken::rpc
