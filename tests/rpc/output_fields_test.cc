// Every field of an estimate reaches its own place: in a reply, and in the columns of a sweep.
#include <gmock/gmock.h>
#include <google/protobuf/descriptor.h>
#include <google/protobuf/text_format.h>

#include <cmath>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "server/rpc/sweep/sweep_metric.h"
#include "server/rpc/wire/convert.h"
#include "tests/rpc/distinct_estimate.h"

namespace foretoken::rpc {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

constexpr char kDistinctReply[] = R"(
method: METHOD_KPI
ttft { seconds: 101 band { low: 102 high: 103 coverage: 0.104 } }
tpot { seconds: 111 band { low: 112 high: 113 coverage: 0.114 } }
e2e { seconds: 121 band { low: 122 high: 123 coverage: 0.124 } }
decode_steps: 131
tpot_is_next_step: true
throughput {
  output_tokens_per_second: 141
  output_tokens_per_second_per_device: 142
  output_tokens_per_second_per_user: 143
  requests_per_second: 144
}
prefill {
  seconds: 151
  parts {
    compute_seconds: 152 memory_seconds: 153 communication_seconds: 154 host_seconds: 155 queueing_seconds: 156
  }
  bound: BOUND_MEMORY
  provenance: PROVENANCE_CALIBRATED
}
decode {
  seconds: 161
  parts {
    compute_seconds: 162 memory_seconds: 163 communication_seconds: 164 host_seconds: 165 queueing_seconds: 166
  }
  bound: BOUND_QUEUEING
  provenance: PROVENANCE_SPEED_OF_LIGHT
}
memory {
  weight_bytes: 171 kv_cache_bytes: 172 activation_bytes: 173 free_bytes: 174 largest_batch: 175
  kv_tokens_capacity: 176 kv_bytes_per_token: 177 compute_bound_batch: 178
  state_bytes_per_sequence: 179
}
mbu: 181
mfu: 182
slo_verdict { verdict: VERDICT_MARGINAL headroom: -183 probability: 184 }
waves: 251
devices: 252
calibration_id: "a calibration"
warnings { code: WARNING_CODE_WAVES message: "what was done" field: "workload.batch_size" }
prefill_operators {
  name: "qkv_proj" count: 261 flops: 262 bytes: 263 communication_bytes: 264 seconds: 265 bound: BOUND_MEMORY
  formula: "qkv_proj * N" inputs { key: "N" value: 266 }
}
decode_operators {
  name: "mlp_up" count: 271 flops: 272 bytes: 273 communication_bytes: 274 seconds: 275 bound: BOUND_MEMORY
  formula: "mlp_up * N" inputs { key: "N" value: 276 }
}
token_latency_seconds: 281
token_latency_seconds: 282
compute_limited_ttft_seconds: 291
speculative_round { accepted_tokens: 191 verify_seconds: 192 draft_seconds: 193 }
disaggregated_use {
  transfer_bytes: 201
  exposed_transfer_seconds: 202
  prefill_requests_per_second: 203
  transfer_requests_per_second: 204
  decode_requests_per_second: 205
  limit: DISAGGREGATED_LIMIT_TRANSFER
  prefill_memory {
    weight_bytes: 211 kv_cache_bytes: 212 activation_bytes: 213 free_bytes: 214 largest_batch: 215
    kv_tokens_capacity: 216 kv_bytes_per_token: 217 compute_bound_batch: 218
    state_bytes_per_sequence: 219
  }
  prefill_devices: 221
}
energy {
  joules_per_request: 231
  joules_per_output_token: 232
  prefill_utilization: 233
  decode_utilization: 234
  is_lower_bound: true
}
cost { cost_per_request: 241 cost_per_million_output_tokens: 242 }
bandwidth_for_max_tpot_bytes_per_second: 292
peak_for_max_ttft_flops_per_second: 293
percentiles {
  ttft {
    mean { seconds: 301 standard_error_seconds: 302 }
    p50 { seconds: 303 standard_error_seconds: 304 }
    p90 { seconds: 305 standard_error_seconds: 306 }
    p95 { seconds: 307 standard_error_seconds: 308 }
    p99 { seconds: 309 standard_error_seconds: 310 }
  }
  tpot {
    mean { seconds: 311 standard_error_seconds: 312 }
    p50 { seconds: 313 standard_error_seconds: 314 }
    p90 { seconds: 315 standard_error_seconds: 316 }
    p95 { seconds: 317 standard_error_seconds: 318 }
    p99 { seconds: 319 standard_error_seconds: 320 }
  }
  itl {
    mean { seconds: 321 standard_error_seconds: 322 }
    p50 { seconds: 323 standard_error_seconds: 324 }
    p90 { seconds: 325 standard_error_seconds: 326 }
    p95 { seconds: 327 standard_error_seconds: 328 }
    p99 { seconds: 329 standard_error_seconds: 330 }
  }
  e2e {
    mean { seconds: 331 standard_error_seconds: 332 }
    p50 { seconds: 333 standard_error_seconds: 334 }
    p90 { seconds: 335 standard_error_seconds: 336 }
    p95 { seconds: 337 standard_error_seconds: 338 }
    p99 { seconds: 339 standard_error_seconds: 340 }
  }
  requests: 341
}
)";

v1::Estimate WrittenEstimate() {
  v1::Estimate message;
  WriteEstimate(DistinctEstimate(), message);
  return message;
}

// The fields of `message`, at any depth, that are not set, by path.
void AddUnset(const Message& message, const std::string& path, std::vector<std::string>& unset) {
  const google::protobuf::Reflection& reflection = *message.GetReflection();
  const Descriptor& type = *message.GetDescriptor();
  for (int i = 0; i < type.field_count(); ++i) {
    const FieldDescriptor* field = type.field(i);
    const std::string here = path + field->name();
    const bool is_set =
        field->is_repeated() ? reflection.FieldSize(message, field) > 0 : reflection.HasField(message, field);
    if (!is_set) {
      unset.push_back(here);
    } else if (field->message_type() != nullptr && !field->is_map()) {
      const Message& child = field->is_repeated() ? reflection.GetRepeatedMessage(message, field, 0)
                                                  : reflection.GetMessage(message, field);
      AddUnset(child, here + ".", unset);
    }
  }
}

TEST(OutputFieldsTest, EveryFieldOfAReplyIsItsOwn) {
  v1::Estimate want;
  ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(kDistinctReply, &want));
  EXPECT_EQ(WrittenEstimate().DebugString(), want.DebugString());
}

// A new field needs a value in DistinctEstimate and kDistinctReply. The two ages are the server's, not the core
// model's: estimator_service_test.cc and catalog_service_test.cc have them.
TEST(OutputFieldsTest, NoFieldOfAReplyIsLeftOut) {
  std::vector<std::string> unset;
  AddUnset(WrittenEstimate(), "", unset);
  EXPECT_THAT(unset, ::testing::ElementsAre("calibration_age", "live_load_age"));
}

// A number at a path of messages, such as "ttft.band.low"; nothing where there is no such number.
std::optional<double> NumberAt(const Message& message, const std::string& path) {
  const std::vector<std::string> names = absl::StrSplit(path, absl::MaxSplits('.', 1));
  const FieldDescriptor* field = message.GetDescriptor()->FindFieldByName(names[0]);
  if (field == nullptr || field->is_repeated()) return std::nullopt;
  const google::protobuf::Reflection& reflection = *message.GetReflection();
  if (names.size() == 2) {
    if (field->message_type() == nullptr) return std::nullopt;
    return NumberAt(reflection.GetMessage(message, field), names[1]);
  }
  switch (field->cpp_type()) {
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return reflection.GetDouble(message, field);
    case FieldDescriptor::CPPTYPE_INT32:
      return reflection.GetInt32(message, field);
    default:
      return std::nullopt;
  }
}

// The paths of an estimate that a metric's name can mean: METRIC_TTFT_LOW_SECONDS is "ttft.band.low",
// METRIC_PREFILL_HOST_SECONDS is "prefill.parts.host_seconds", METRIC_WEIGHT_BYTES is "memory.weight_bytes".
std::vector<std::string> PathsOf(const std::string& metric) {
  const std::string name = absl::AsciiStrToLower(metric.substr(std::string("METRIC_").size()));
  std::vector<std::string> paths = {name};
  for (const char* message : {"throughput", "memory", "energy", "cost", "disaggregated_use"}) {
    paths.push_back(absl::StrCat(message, ".", name));
  }
  const size_t end = name.find('_');
  if (end == std::string::npos) return paths;
  const std::string first = name.substr(0, end);
  const std::string rest = name.substr(end + 1);
  paths.push_back(absl::StrCat(first, ".", rest));
  paths.push_back(absl::StrCat(first, ".parts.", rest));
  paths.push_back(absl::StrCat(first, "_verdict.", rest));
  paths.push_back(absl::StrCat(first, "_round.", rest));
  paths.push_back(absl::StrCat("disaggregated_use.", first, "_memory.", rest));
  // METRIC_TTFT_P90_SECONDS is "percentiles.ttft.p90.seconds".
  paths.push_back(absl::StrCat("percentiles.", absl::StrReplaceAll(name, {{"_", "."}})));
  if (absl::EndsWith(rest, "_seconds")) {
    paths.push_back(absl::StrCat(first, ".band.", rest.substr(0, rest.find('_'))));
  }
  return paths;
}

// The product's table of metrics is not asked what a name means: the names of the API's fields are.
TEST(OutputFieldsTest, EveryMetricIsTheFieldOfItsName) {
  const v1::Estimate reply = WrittenEstimate();
  std::set<double> seen;
  for (int number = 1; number < v1::Metric_ARRAYSIZE; ++number) {
    const auto metric = static_cast<v1::Metric>(number);
    const std::string name = v1::Metric_Name(metric);
    std::vector<double> named;
    for (const std::string& path : PathsOf(name)) {
      if (const std::optional<double> value = NumberAt(reply, path)) named.push_back(*value);
    }
    ASSERT_EQ(named.size(), 1u) << name << " has to name one field of an estimate";
    EXPECT_EQ(ReaderOf(metric).of(DistinctEstimate()), named[0]) << name;
    EXPECT_TRUE(seen.insert(named[0]).second) << name << " repeats the field of another metric";
  }
}

// What an estimate does not know is not a number in any column, and is absent from a reply.
TEST(OutputFieldsTest, WhatIsUnknownIsNotANumber) {
  const Estimate unknown;
  std::vector<std::string> known;
  for (int number = 1; number < v1::Metric_ARRAYSIZE; ++number) {
    const auto metric = static_cast<v1::Metric>(number);
    if (!std::isnan(ReaderOf(metric).of(unknown))) known.push_back(v1::Metric_Name(metric));
  }
  EXPECT_THAT(known, ::testing::ElementsAre("METRIC_TTFT_SECONDS", "METRIC_TPOT_SECONDS", "METRIC_E2E_SECONDS",
                                            "METRIC_DECODE_STEPS", "METRIC_OUTPUT_TOKENS_PER_SECOND",
                                            "METRIC_OUTPUT_TOKENS_PER_SECOND_PER_DEVICE",
                                            "METRIC_OUTPUT_TOKENS_PER_SECOND_PER_USER", "METRIC_REQUESTS_PER_SECOND",
                                            "METRIC_WAVES", "METRIC_DEVICES"));
}

}  // namespace
}  // namespace foretoken::rpc
