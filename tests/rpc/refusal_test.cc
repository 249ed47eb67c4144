// Scenarios that are refused: the code, the reason and the field of each.
#include <gmock/gmock.h>

#include <functional>
#include <iterator>
#include <limits>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/rpc/secondary_fixture.h"

namespace foretoken::rpc {
namespace {

using ::testing::ElementsAre;

struct BadCase {
  const char* name;
  std::function<void(v1::Scenario&)> change;
  grpc::StatusCode code;
  const char* reason;
  const char* field;
};

void SetInteger(google::protobuf::Message& message, const std::string& field, int64_t value) {
  const google::protobuf::FieldDescriptor& of = *message.GetDescriptor()->FindFieldByName(field);
  const google::protobuf::Reflection& reflection = *message.GetReflection();
  if (of.cpp_type() == google::protobuf::FieldDescriptor::CPPTYPE_INT64) {
    reflection.SetInt64(&message, &of, value);
  } else {
    reflection.SetInt32(&message, &of, static_cast<int>(value));
  }
}

class RefusalTest : public SecondaryTest {
 protected:
  void ExpectRefused(const std::vector<BadCase>& cases) {
    for (const BadCase& c : cases) {
      v1::Scenario scenario = Scenario(1, 1000, 10);
      c.change(scenario);
      v1::EstimateResponse response;
      const grpc::Status status = Estimate(scenario, &response);
      EXPECT_EQ(status.error_code(), c.code) << c.name << ": " << status.error_message();
      EXPECT_EQ(PartsOf(status).reason, c.reason) << c.name << ": " << status.error_message();
      EXPECT_THAT(PartsOf(status).fields, ElementsAre(c.field)) << c.name;
    }
  }
};

TEST_F(RefusalTest, InvalidFieldsAreNamed) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  ExpectRefused({
      {"no prompt", [](auto& s) { s.mutable_workload()->clear_prompt_tokens(); }, grpc::INVALID_ARGUMENT,
       "INVALID_FIELD", "scenario.workload.prompt_tokens"},
      {"negative prompt", [](auto& s) { s.mutable_workload()->set_prompt_tokens(-1); }, grpc::INVALID_ARGUMENT,
       "INVALID_FIELD", "scenario.workload.prompt_tokens"},
      {"zero batch", [](auto& s) { s.mutable_workload()->set_batch_size(0); }, grpc::INVALID_ARGUMENT, "INVALID_FIELD",
       "scenario.workload.batch_size"},
      {"huge output", [](auto& s) { s.mutable_workload()->set_output_tokens(2'000'000'000); }, grpc::INVALID_ARGUMENT,
       "INVALID_FIELD", "scenario.workload.output_tokens"},
      {"prefix past prompt", [](auto& s) { s.mutable_workload()->set_cached_prefix_tokens(1000); },
       grpc::INVALID_ARGUMENT, "INVALID_FIELD", "scenario.workload.cached_prefix_tokens"},
      {"zero tp", [](auto& s) { s.mutable_deployment()->set_tensor_parallel(0); }, grpc::INVALID_ARGUMENT,
       "INVALID_FIELD", "scenario.deployment.tensor_parallel"},
      {"NaN utilization", [=](auto& s) { s.mutable_deployment()->set_memory_utilization(nan); }, grpc::INVALID_ARGUMENT,
       "INVALID_FIELD", "scenario.deployment.memory_utilization"},
      {"NaN objective", [=](auto& s) { s.mutable_slo()->set_max_ttft_seconds(nan); }, grpc::INVALID_ARGUMENT,
       "INVALID_FIELD", "scenario.slo.max_ttft_seconds"},
      {"unknown dtype", [](auto& s) { s.mutable_deployment()->set_weight_dtype(static_cast<v1::Dtype>(99)); },
       grpc::INVALID_ARGUMENT, "INVALID_FIELD", "scenario.deployment.weight_dtype"},
      {"price", [](auto& s) { s.mutable_deployment()->set_price_per_device_hour(-1); }, grpc::INVALID_ARGUMENT,
       "INVALID_FIELD", "scenario.deployment.price_per_device_hour"},
  });
}

TEST_F(RefusalTest, InvalidFieldsOfALiveLoadAreNamed) {
  ExpectRefused({
      {"a list beside its mean",
       [](auto& s) {
         s.mutable_live_load()->add_running()->set_remaining_output_tokens(4);
         s.mutable_live_load()->set_remaining_output_tokens(4);
       },
       grpc::INVALID_ARGUMENT, "INVALID_FIELD", "scenario.live_load.remaining_output_tokens"},
      {"a listed sequence that has less than nothing left",
       [](auto& s) {
         s.mutable_live_load()->add_running();
         s.mutable_live_load()->add_running()->set_remaining_output_tokens(-1);
       },
       grpc::INVALID_ARGUMENT, "INVALID_FIELD", "scenario.live_load.running[1].remaining_output_tokens"},
      {"more sequences than are listed",
       [](auto& s) {
         for (int i = 0; i <= 1024; ++i) s.mutable_live_load()->add_running();
       },
       grpc::INVALID_ARGUMENT, "INVALID_FIELD", "scenario.live_load.running"},
      {"the least above the mean",
       [](auto& s) {
         s.mutable_live_load()->set_remaining_output_tokens(4);
         s.mutable_live_load()->set_least_remaining_output_tokens(5);
       },
       grpc::INVALID_ARGUMENT, "INVALID_FIELD", "scenario.live_load.least_remaining_output_tokens"},
      {"the least without a mean", [](auto& s) { s.mutable_live_load()->set_least_remaining_output_tokens(5); },
       grpc::INVALID_ARGUMENT, "INVALID_FIELD", "scenario.live_load.least_remaining_output_tokens"},
      {"a KV cache that is more than full", [](auto& s) { s.mutable_live_load()->set_kv_cache_usage_ratio(1.01); },
       grpc::INVALID_ARGUMENT, "INVALID_FIELD", "scenario.live_load.kv_cache_usage_ratio"},
      {"the KV cache stated twice",
       [](auto& s) {
         s.mutable_live_load()->set_kv_cache_usage_ratio(0.5);
         s.mutable_live_load()->set_free_kv_tokens(1000);
       },
       grpc::INVALID_ARGUMENT, "INVALID_FIELD", "scenario.live_load.kv_cache_usage_ratio"},
  });
}

// Every integer of a live load has an upper limit: at it a question is answered or refused in time, past it the field
// is at fault.
TEST_F(RefusalTest, IntegersOfALiveLoadAreLimited) {
  struct Limit {
    const char* field;
    int64_t most;
  };
  constexpr int64_t kReplicaTokens = 1'000'000'000'000;
  const Limit limits[] = {{"running_sequences", 1'000'000},          {"waiting_requests", 1'000'000},
                          {"queued_prefill_tokens", kReplicaTokens}, {"in_flight_prefill_tokens", kReplicaTokens},
                          {"free_kv_tokens", kReplicaTokens},        {"max_num_seqs", 1'000'000},
                          {"max_num_batched_tokens", 100'000'000},   {"kv_block_tokens", 100'000'000}};
  int integers = 0;
  const google::protobuf::Descriptor& type = *v1::LiveLoad::descriptor();
  for (int i = 0; i < type.field_count(); ++i) {
    const auto kind = type.field(i)->cpp_type();
    integers += kind == google::protobuf::FieldDescriptor::CPPTYPE_INT32 ||
                kind == google::protobuf::FieldDescriptor::CPPTYPE_INT64;
  }
  EXPECT_EQ(integers, std::ssize(limits)) << "a new integer needs its limit here";
  for (const Limit& limit : limits) {
    for (const int64_t past : {0, 1}) {
      v1::Scenario scenario = Scenario(1, 1000, 10);
      v1::LiveLoad& load = *scenario.mutable_live_load();
      load.set_max_num_batched_tokens(16);
      SetInteger(load, limit.field, limit.most + past);
      v1::EstimateResponse response;
      const grpc::Status status = Estimate(scenario, &response);
      const std::string field = absl::StrCat("scenario.live_load.", limit.field);
      const bool refused = status.error_code() == grpc::INVALID_ARGUMENT && PartsOf(status).fields.front() == field;
      EXPECT_EQ(refused, past == 1) << limit.field << " " << limit.most + past << ": " << status.error_message();
    }
  }
}

TEST_F(RefusalTest, WhatCannotBeAnsweredSaysWhy) {
  ExpectRefused({
      {"unknown model", [](auto& s) { s.set_model_id("nope"); }, grpc::NOT_FOUND, "UNKNOWN_ID", "scenario.model_id"},
      {"unknown hardware", [](auto& s) { s.set_hardware_id("nope"); }, grpc::NOT_FOUND, "UNKNOWN_ID",
       "scenario.hardware_id"},
      {"does not fit", [](auto& s) { s.set_model_id("llama-3.1-405b"); }, grpc::FAILED_PRECONDITION, "OUT_OF_MEMORY",
       "scenario.workload.batch_size"},
      {"no link",
       [](auto& s) {
         s.set_hardware_id("google-tpu-v3-32gb");
         s.mutable_hardware_spec()->set_memory_bandwidth_bytes_per_second(1e12);
         s.mutable_hardware_spec()->set_memory_capacity_bytes(1'000'000'000'000);
         s.mutable_hardware_spec()->mutable_peak()->set_bf16_flops_per_second(1e14);
         s.mutable_deployment()->set_tensor_parallel(2);
       },
       grpc::FAILED_PRECONDITION, "MISSING_FIGURE", "scenario.hardware_spec.interconnect_bytes_per_second"},
      {"unsupported model", [](auto& s) { s.set_model_id("jamba-v0.1"); }, grpc::FAILED_PRECONDITION,
       "UNSUPPORTED_MODEL", "scenario.model_id"},
      {"no profile", [](auto& s) { s.set_method(v1::METHOD_LINEAR_PROFILE); }, grpc::FAILED_PRECONDITION, "NO_PROFILE",
       "scenario.hardware_spec.linear_profiles"},
      {"continuous without a cache",
       [](auto& s) {
         s.mutable_workload()->set_batching_policy(v1::BATCHING_POLICY_CONTINUOUS);
         s.mutable_workload()->set_kv_cache_mode(v1::KV_CACHE_MODE_NONE);
       },
       grpc::UNIMPLEMENTED, "NOT_MODELLED", "scenario.workload.kv_cache_mode"},
      {"too high a rate",
       [](auto& s) {
         s.mutable_workload()->set_batching_policy(v1::BATCHING_POLICY_CONTINUOUS);
         s.mutable_workload()->set_request_rate_per_second(1e6);
       },
       grpc::FAILED_PRECONDITION, "UNSTABLE_LOAD", "scenario.workload.request_rate_per_second"},
  });
}

TEST_F(RefusalTest, BadSpeculationIsNamed) {
  const auto speculative = [](v1::Scenario& s) -> v1::SpeculativeDecoding& {
    s = Speculative();
    return *s.mutable_speculative_decoding();
  };
  ExpectRefused({
      {"no draft", [=](auto& s) { speculative(s).clear_draft_model(); }, grpc::INVALID_ARGUMENT, "INVALID_FIELD",
       "scenario.speculative_decoding.draft_model_id"},
      {"unknown draft", [=](auto& s) { speculative(s).set_draft_model_id("nope"); }, grpc::NOT_FOUND, "UNKNOWN_ID",
       "scenario.speculative_decoding.draft_model_id"},
      {"no tokens", [=](auto& s) { speculative(s).clear_draft_tokens(); }, grpc::INVALID_ARGUMENT, "INVALID_FIELD",
       "scenario.speculative_decoding.draft_tokens"},
      {"many tokens", [=](auto& s) { speculative(s).set_draft_tokens(65); }, grpc::INVALID_ARGUMENT, "INVALID_FIELD",
       "scenario.speculative_decoding.draft_tokens"},
      {"acceptance", [=](auto& s) { speculative(s).set_acceptance_rate(1.5); }, grpc::INVALID_ARGUMENT, "INVALID_FIELD",
       "scenario.speculative_decoding.acceptance_rate"},
      {"draft on more devices", [=](auto& s) { speculative(s).mutable_draft_deployment()->set_tensor_parallel(2); },
       grpc::INVALID_ARGUMENT, "INVALID_FIELD", "scenario.speculative_decoding.draft_deployment.tensor_parallel"},
      {"live load",
       [=](auto& s) {
         speculative(s);
         s.mutable_live_load()->set_running_sequences(3);
       },
       grpc::UNIMPLEMENTED, "NOT_MODELLED", "scenario.speculative_decoding"},
  });
}

TEST_F(RefusalTest, BadPrefillPoolsAreNamed) {
  const auto prefill = [](v1::Scenario& s) -> v1::DisaggregatedPrefill& {
    s = Disaggregated();
    return *s.mutable_disaggregated_prefill();
  };
  ExpectRefused({
      {"unknown prefill hardware", [=](auto& s) { prefill(s).set_hardware_id("nope"); }, grpc::NOT_FOUND, "UNKNOWN_ID",
       "scenario.disaggregated_prefill.hardware_id"},
      {"negative transfer latency", [=](auto& s) { prefill(s).set_transfer_latency_seconds(-1); },
       grpc::INVALID_ARGUMENT, "INVALID_FIELD", "scenario.disaggregated_prefill.transfer_latency_seconds"},
      {"no transfer bandwidth", [=](auto& s) { prefill(s).set_transfer_bytes_per_second(0); }, grpc::INVALID_ARGUMENT,
       "INVALID_FIELD", "scenario.disaggregated_prefill.transfer_bytes_per_second"},
      {"no prefill replicas", [=](auto& s) { prefill(s).set_prefill_replicas(0); }, grpc::INVALID_ARGUMENT,
       "INVALID_FIELD", "scenario.disaggregated_prefill.prefill_replicas"},
      {"no link",
       [=](auto& s) {
         prefill(s).clear_transfer_bytes_per_second();
         s.mutable_disaggregated_prefill()->set_hardware_id("amd-mi325x-256gb");
       },
       grpc::FAILED_PRECONDITION, "MISSING_FIGURE", "scenario.disaggregated_prefill.transfer_bytes_per_second"},
      {"prefill does not fit", [=](auto& s) { prefill(s).set_batch_size(1'000'000); }, grpc::FAILED_PRECONDITION,
       "OUT_OF_MEMORY", "scenario.disaggregated_prefill.batch_size"},
  });
}

}  // namespace
}  // namespace foretoken::rpc
