// Every enum and every bool of a scenario can be an axis of a sweep, found by the descriptor: a new one needs no word
// here or in the server.
#include <gmock/gmock.h>
#include <google/protobuf/descriptor.h>
#include <google/protobuf/text_format.h>

#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "server/rpc/sweep/field_path.h"
#include "tests/rpc/secondary_fixture.h"

namespace foretoken::rpc {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

struct NamedField {
  std::string path;
  const FieldDescriptor* field;
};

// The enums and bools under `type`, but for those in lists, which have no path.
void AddFields(const Descriptor& type, const std::string& prefix, std::vector<NamedField>& fields) {
  for (int i = 0; i < type.field_count(); ++i) {
    const FieldDescriptor* field = type.field(i);
    if (field->is_repeated()) continue;
    const std::string path = prefix + field->name();
    const bool is_named =
        field->cpp_type() == FieldDescriptor::CPPTYPE_ENUM || field->cpp_type() == FieldDescriptor::CPPTYPE_BOOL;
    if (is_named) fields.push_back({path, field});
    if (field->message_type() != nullptr && field->message_type()->file()->package() == "foretoken.v1") {
      AddFields(*field->message_type(), path + ".", fields);
    }
  }
}

std::vector<NamedField> AllFields() {
  std::vector<NamedField> fields;
  AddFields(*v1::Scenario::descriptor(), "", fields);
  return fields;
}

// The names of a field's values, in order of their numbers.
std::vector<std::string> NamesOf(const FieldDescriptor& field) {
  if (field.enum_type() == nullptr) return {"false", "true"};
  std::vector<std::string> names;
  for (int i = 0; i < field.enum_type()->value_count(); ++i) names.push_back(field.enum_type()->value(i)->name());
  return names;
}

class SweepFieldsTest : public SecondaryTest {
 protected:
  // A scenario in which the part of the field is used, its specs spelled out.
  v1::Scenario BaseFor(const std::string& path) {
    v1::Scenario base = Scenario(2, 1000, 20);
    if (absl::StartsWith(path, "speculative_decoding")) base = Speculative();
    if (absl::StartsWith(path, "disaggregated_prefill")) base = Disaggregated();
    if (absl::StartsWith(path, "model_spec")) *base.mutable_model_spec() = ModelSpec(path, "llama-3.1-8b");
    if (absl::StartsWith(path, "hardware_spec")) *base.mutable_hardware_spec() = HardwareSpec();
    if (absl::StartsWith(path, "speculative_decoding.draft_model_spec")) {
      *base.mutable_speculative_decoding()->mutable_draft_model_spec() = ModelSpec(path, "llama-3.2-1b");
    }
    if (absl::StartsWith(path, "disaggregated_prefill.hardware_spec")) {
      *base.mutable_disaggregated_prefill()->mutable_hardware_spec() = HardwareSpec();
    }
    return base;
  }
  // The spec of a dense model, or of one with experts or recurrence where the field is about those, free of what would
  // contradict the field.
  v1::ModelSpec ModelSpec(const std::string& path, const std::string& dense_id) {
    const bool has_experts = absl::StrContains(path, "mixture_of_experts");
    v1::GetModelRequest get;
    const bool recurs = absl::StrContains(path, "linear_attention");
    get.set_model_id(has_experts ? "mixtral-8x7b" : recurs ? "qwen3.5-0.8b" : dense_id);
    v1::GetModelResponse got;
    EXPECT_TRUE(Call(&v1::CatalogService::Stub::GetModel, get, &got).ok());
    v1::ModelSpec spec = got.entry().spec();
    spec.clear_parameter_count();  // would forbid what changes the number of parameters
    spec.clear_active_parameter_count();
    spec.mutable_sliding_window()->set_window_tokens(512);
    if (has_experts) spec.mutable_mixture_of_experts()->set_num_shared_experts(1);
    return spec;
  }
  v1::HardwareSpec HardwareSpec() {
    v1::GetHardwareRequest get;
    get.set_hardware_id("nvidia-h100-sxm-80gb");
    v1::GetHardwareResponse got;
    EXPECT_TRUE(Call(&v1::CatalogService::Stub::GetHardware, get, &got).ok());
    return got.entry().spec();
  }

  grpc::Status RunSweep(const v1::SweepRequest& request, v1::SweepHeader& header, v1::SweepChunk& chunk) {
    grpc::ClientContext context;
    const auto reader = estimator_->Sweep(&context, request);
    v1::SweepResponse response;
    while (reader->Read(&response)) {
      if (response.has_header()) header = response.header();
      if (response.has_chunk()) chunk = response.chunk();
    }
    return reader->Finish();
  }
  grpc::Status RunSweep(const v1::SweepRequest& request) {
    v1::SweepHeader header;
    v1::SweepChunk chunk;
    return RunSweep(request, header, chunk);
  }
};

// A point of the axis is what Estimate says of the scenario with that value, be it an estimate or a refusal.
TEST_F(SweepFieldsTest, AnAxisOfEveryValueIsEveryEstimate) {
  const std::vector<NamedField> fields = AllFields();
  EXPECT_GE(fields.size(), 30u);
  for (const NamedField& one : fields) {
    v1::SweepRequest request;
    *request.mutable_base() = BaseFor(one.path);
    v1::SweepAxis& axis = *request.add_axes();
    axis.set_field(one.path);
    std::vector<v1::EstimateResponse> estimates;
    std::vector<int> statuses;
    const auto path = FieldPath::Resolve(one.path);
    ASSERT_TRUE(path.ok()) << path.status();
    for (const std::string& name : NamesOf(*one.field)) {
      v1::Scenario scenario = request.base();
      path->SetNumber(*path->NumberOf(name), scenario);
      v1::EstimateResponse response;
      const grpc::Status status = Estimate(scenario, &response);
      if (status.error_code() == grpc::INVALID_ARGUMENT) continue;  // tested below
      axis.mutable_texts()->add_values(name);
      statuses.push_back(status.error_code());
      estimates.push_back(response);
    }
    ASSERT_GE(statuses.size(), 2u) << one.path << " has too few values that can be asked for";
    v1::SweepHeader header;
    v1::SweepChunk chunk;
    request.add_metrics(v1::METRIC_E2E_SECONDS);
    request.add_metrics(v1::METRIC_TTFT_SECONDS);
    const grpc::Status status = RunSweep(request, header, chunk);
    ASSERT_TRUE(status.ok()) << one.path << ": " << status.error_message();
    EXPECT_EQ(header.axes(0).DebugString(), axis.DebugString());
    for (int i = 0; i < static_cast<int>(statuses.size()); ++i) {
      const int found = chunk.statuses_size() == 1 ? chunk.statuses(0) : chunk.statuses(i);
      EXPECT_EQ(found, statuses[static_cast<size_t>(i)]) << one.path << " " << axis.texts().values(i);
      if (found != 0) continue;
      const v1::Estimate& alone = estimates[static_cast<size_t>(i)].estimate();
      EXPECT_EQ(chunk.columns(0).values(i), alone.e2e().seconds()) << one.path << " " << axis.texts().values(i);
      EXPECT_EQ(chunk.columns(1).values(i), alone.ttft().seconds()) << one.path << " " << axis.texts().values(i);
    }
  }
}

TEST_F(SweepFieldsTest, ABoolIsANumberToo) {
  v1::SweepRequest request;
  *request.mutable_base() = Scenario(2, 1000, 20);
  v1::SweepAxis& axis = *request.add_axes();
  axis.set_field("deployment.unfused_elementwise");
  axis.mutable_numbers()->add_values(1);
  axis.mutable_numbers()->add_values(0);
  v1::SweepHeader header;
  v1::SweepChunk chunk;
  ASSERT_TRUE(RunSweep(request, header, chunk).ok());
  EXPECT_THAT(header.axes(0).numbers().values(), ElementsAre(1, 0));
  EXPECT_GT(chunk.columns(0).values(0), chunk.columns(0).values(1)) << "separate passes over memory take longer";
}

// A value that needs another field makes its own points refused, wherever it stands on the axis.
TEST_F(SweepFieldsTest, AValueThatNeedsAnotherFieldRefusesItsPointsOnly) {
  for (const bool first : {true, false}) {
    v1::SweepRequest request;
    *request.mutable_base() = Scenario(2, 1000, 20);
    v1::SweepAxis& axis = *request.add_axes();
    axis.set_field("workload.kv_cache_mode");
    if (first) axis.mutable_texts()->add_values("KV_CACHE_MODE_PIPELINED_PROMPT_CACHE");
    axis.mutable_texts()->add_values("KV_CACHE_MODE_CACHED");
    if (!first) axis.mutable_texts()->add_values("KV_CACHE_MODE_PIPELINED_PROMPT_CACHE");
    v1::SweepHeader header;
    v1::SweepChunk chunk;
    const grpc::Status status = RunSweep(request, header, chunk);
    ASSERT_TRUE(status.ok()) << status.error_message();
    EXPECT_EQ(chunk.statuses(first ? 0 : 1), grpc::INVALID_ARGUMENT);
    EXPECT_EQ(chunk.statuses(first ? 1 : 0), grpc::OK);
  }
  v1::SweepRequest request;  // with no other value it is a matter of the whole sweep
  *request.mutable_base() = Scenario(2, 1000, 20);
  request.add_axes()->set_field("workload.kv_cache_mode");
  request.mutable_axes(0)->mutable_texts()->add_values("KV_CACHE_MODE_PIPELINED_PROMPT_CACHE");
  EXPECT_THAT(PartsOf(RunSweep(request)).fields, ElementsAre("base.workload.prompt_arrival_tokens_per_second"));
}

struct BadAxis {
  const char* name;
  const char* axis;
  const char* field;
  const char* message;
};

TEST_F(SweepFieldsTest, ValuesOfTheWrongKindAreNamed) {
  const BadAxis cases[] = {
      {"no such value", R"(field: "workload.batching_policy" texts { values: "BATCHING_POLICY_STATIC" values: "x" })",
       "axes[0].texts.values[1]",
       "\"x\" on workload.batching_policy; allowed one of BATCHING_POLICY_UNSPECIFIED, BATCHING_POLICY_STATIC"},
      {"a value of another enum", R"(field: "workload.batching_policy" texts { values: "DTYPE_FP8" })",
       "axes[0].texts.values[0]", "\"DTYPE_FP8\" on workload.batching_policy"},
      {"numbers for an enum", R"(field: "workload.batching_policy" numbers { values: 1 })", "axes[0]",
       "workload.batching_policy takes texts, each one of BATCHING_POLICY_UNSPECIFIED"},
      {"numbers for a dtype", R"(field: "deployment.weight_dtype" numbers { values: 1 })", "axes[0]",
       "deployment.weight_dtype takes dtypes, or texts, each one of DTYPE_UNSPECIFIED"},
      {"dtypes for another enum", R"(field: "workload.batching_policy" dtypes { values: DTYPE_FP8 })", "axes[0]",
       "workload.batching_policy takes texts"},
      {"an unknown dtype", R"(field: "deployment.weight_dtype" dtypes { values: 99 })", "axes[0].dtypes.values[0]",
       "weight_dtype has unknown value 99"},
      {"neither true nor false", R"(field: "deployment.unfused_elementwise" texts { values: "yes" })",
       "axes[0].texts.values[0]", "\"yes\" on deployment.unfused_elementwise; allowed false or true"},
      {"no bool", R"(field: "deployment.unfused_elementwise" numbers { values: 2 })", "axes[0].numbers.values[0]",
       "2 on deployment.unfused_elementwise; allowed 0 (false) or 1 (true)"},
      {"dtypes for a bool", R"(field: "deployment.unfused_elementwise" dtypes { values: DTYPE_FP8 })", "axes[0]",
       "takes numbers, each 0 (false) or 1 (true), or texts, each false or true"},
      {"texts for a number", R"(field: "workload.batch_size" texts { values: "1" })", "axes[0]",
       "workload.batch_size takes numbers, linear or logarithmic"},
      {"no names", R"(field: "workload.batching_policy" texts { })", "axes[0].texts.values", "no values"},
  };
  for (const BadAxis& c : cases) {
    v1::SweepRequest request;
    *request.mutable_base() = Scenario(2, 1000, 20);
    ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(c.axis, request.add_axes())) << c.name;
    const grpc::Status status = RunSweep(request);
    EXPECT_EQ(status.error_code(), grpc::INVALID_ARGUMENT) << c.name;
    EXPECT_THAT(PartsOf(status).fields, ElementsAre(c.field)) << c.name;
    EXPECT_THAT(status.error_message(), HasSubstr(c.message)) << c.name;
  }
}

}  // namespace
}  // namespace foretoken::rpc
