// Every number of a scenario at its limits, alone and in pairs: through the conversion and the core model, each answer
// within a bounded CPU time. Fields come from the descriptor, limits from what the refusal of a larger value allows.
#include <gmock/gmock.h>
#include <google/protobuf/descriptor.h>
#include <time.h>

#include <cmath>
#include <cstdlib>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include "server/catalog/catalog.h"
#include "server/catalog/entries/embedded.h"
#include "server/catalog/store/memory_store.h"
#include "server/rpc/estimate/scenario_estimator.h"
#include "server/rpc/estimate/scenario_reader.h"

namespace foretoken::rpc {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

// A hundred times what the dearest estimate takes: for builds with sanitizers, on busy machines.
constexpr double kMostSeconds = 0.1;

double CpuSeconds() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

using Path = std::vector<const FieldDescriptor*>;

std::string NameOf(const Path& path) {
  std::string name;
  for (const FieldDescriptor* field : path) name += (name.empty() ? "" : ".") + field->name();
  return name;
}

bool IsNumber(const FieldDescriptor& field) {
  const auto type = field.cpp_type();
  return type == FieldDescriptor::CPPTYPE_INT32 || type == FieldDescriptor::CPPTYPE_INT64 ||
         type == FieldDescriptor::CPPTYPE_DOUBLE;
}

// Numbers of the message and of the messages in it. Specs have limits of their own (ParseHardwareTest, ParseModelTest).
void AddNumbers(const Descriptor& type, Path path, std::vector<Path>& numbers) {
  for (int i = 0; i < type.field_count(); ++i) {
    const FieldDescriptor* field = type.field(i);
    if (field->is_repeated()) continue;
    path.push_back(field);
    if (IsNumber(*field)) numbers.push_back(path);
    const Descriptor* inner = field->message_type();
    const std::string name = inner == nullptr ? "" : inner->name();
    if (inner != nullptr && name != "HardwareSpec" && name != "ModelSpec" && name != "Timestamp") {
      AddNumbers(*inner, path, numbers);
    }
    path.pop_back();
  }
}

void Set(const Path& path, double value, Message& message) {
  Message* at = &message;
  for (size_t i = 0; i + 1 < path.size(); ++i) at = at->GetReflection()->MutableMessage(at, path[i]);
  const FieldDescriptor* field = path.back();
  if (field->cpp_type() == FieldDescriptor::CPPTYPE_DOUBLE) {
    at->GetReflection()->SetDouble(at, field, value);
  } else if (field->cpp_type() == FieldDescriptor::CPPTYPE_INT32) {
    at->GetReflection()->SetInt32(at, field, static_cast<int32_t>(std::clamp(value, -2147483648.0, 2147483647.0)));
  } else {
    at->GetReflection()->SetInt64(at, field, value >= 9.2e18 ? INT64_MAX : static_cast<int64_t>(value));
  }
}

// Whether the path's messages are there, so that setting the number does not add a feature with other fields missing.
bool Has(const Path& path, const Message& message) {
  const Message* at = &message;
  for (size_t i = 0; i + 1 < path.size(); ++i) {
    if (!at->GetReflection()->HasField(*at, path[i])) return false;
    at = &at->GetReflection()->GetMessage(*at, path[i]);
  }
  return true;
}

class NumberLimitsTest : public testing::Test {
 protected:
  NumberLimitsTest()
      : catalog_(*catalog::Catalog::Open(*catalog::LoadEmbeddedBundle(), std::make_unique<catalog::MemoryStore>(),
                                         [] { return absl::UnixEpoch(); })) {
    AddNumbers(*v1::Scenario::descriptor(), {}, numbers_);
  }

  // Answers, or refuses, within the bound.
  absl::Status Answer(const v1::Scenario& message, const std::string& what) {
    const double begin = CpuSeconds();
    const auto snapshot = catalog_->snapshot();
    ScenarioReader reader(*snapshot, absl::UnixEpoch());
    ScenarioEstimator estimator(reader, *snapshot);
    reader.ReadAll(message, "");
    Estimate estimate;
    const absl::Status status = estimator.Estimate(Detail(), estimate);
    EXPECT_LT(CpuSeconds() - begin, kMostSeconds) << what;
    if (status.ok()) {
      EXPECT_GE(estimate.e2e.time.value(), 0) << what;
      EXPECT_TRUE(std::isfinite(estimate.e2e.time.value())) << what;
    } else {
      EXPECT_NE(DetailOf(status).reason, Reason::kUnspecified) << what << status;
    }
    return status;
  }

  // The values to try: 0, 1, the largest of the type, and the largest allowed if the refusal of that names it.
  std::vector<double> Extremes(const Path& path, v1::Scenario message) {
    std::vector<double> values = {-1, 0, 1, 2};
    const bool whole = path.back()->cpp_type() != FieldDescriptor::CPPTYPE_DOUBLE;
    const double most = whole ? 9.3e18 : 1e308;
    values.push_back(most);
    Set(path, most, message);
    const absl::Status refused = Answer(message, NameOf(path));
    for (const FieldViolation& violation : DetailOf(refused).violations) {
      const size_t to = violation.description.rfind(" to ");
      if (violation.field != NameOf(path) || to == std::string::npos) continue;
      values.push_back(std::strtod(violation.description.c_str() + to + 4, nullptr));
    }
    return values;
  }

  std::shared_ptr<catalog::Catalog> catalog_;
  std::vector<Path> numbers_;
};

v1::Scenario Plain() {
  v1::Scenario scenario;
  scenario.set_model_id("llama-3.1-8b");
  scenario.set_hardware_id("nvidia-h100-sxm-80gb");
  scenario.mutable_deployment();
  scenario.mutable_workload()->set_batch_size(2);
  scenario.mutable_workload()->set_prompt_tokens(1000);
  scenario.mutable_workload()->set_output_tokens(100);
  return scenario;
}

// One scenario for each policy, with every message that it may have.
std::vector<v1::Scenario> Bases() {
  std::vector<v1::Scenario> bases(6, Plain());
  bases[0].mutable_slo()->set_max_ttft_seconds(1);
  bases[0].mutable_speculative_decoding()->set_draft_model_id("llama-3.2-1b");
  bases[0].mutable_speculative_decoding()->set_draft_tokens(4);
  bases[0].mutable_speculative_decoding()->set_acceptance_rate(0.7);
  bases[1].mutable_live_load()->set_running_sequences(4);
  bases[1].mutable_live_load()->set_remaining_output_tokens(50);
  bases[2].mutable_workload()->set_batching_policy(v1::BATCHING_POLICY_CONTINUOUS);
  bases[3].mutable_workload()->set_batching_policy(v1::BATCHING_POLICY_CONTINUOUS);
  bases[3].mutable_workload()->set_request_rate_per_second(0.1);
  bases[4].mutable_workload()->set_batching_policy(v1::BATCHING_POLICY_DYNAMIC);
  bases[4].mutable_workload()->set_request_rate_per_second(0.1);
  bases[4].mutable_workload()->set_batching_window_seconds(0.1);
  bases[5].mutable_disaggregated_prefill()->set_batch_size(1);
  return bases;
}

// The smallest request that states the largest of a number has a limit that means something.
TEST_F(NumberLimitsTest, EveryIntegerHasALimit) {
  const std::set<std::string> unlimited = {};
  for (const Path& path : numbers_) {
    if (path.back()->cpp_type() == FieldDescriptor::CPPTYPE_DOUBLE) continue;
    v1::Scenario scenario = Bases()[0];
    Set(path, 9.3e18, scenario);
    const auto snapshot = catalog_->snapshot();
    ScenarioReader reader(*snapshot, absl::UnixEpoch());
    reader.ReadAll(scenario, "");
    bool refused = false;
    for (int part = 0; part < kNumParts; ++part) {
      for (const FieldViolation& v : reader.violations(static_cast<Part>(part))) refused |= v.field == NameOf(path);
    }
    EXPECT_TRUE(refused || unlimited.count(NameOf(path)) > 0) << NameOf(path);
  }
}

TEST_F(NumberLimitsTest, EveryPairOfNumbersAtItsLimitsIsAnsweredInBoundedTime) {
  int answered = 0;
  for (const v1::Scenario& base : Bases()) {
    ASSERT_TRUE(Answer(base, "the base").ok()) << Answer(base, "the base") << base.DebugString();
    std::vector<Path> paths;
    std::vector<std::vector<double>> values;
    for (const Path& path : numbers_) {
      if (!Has(path, base)) continue;
      paths.push_back(path);
      values.push_back(Extremes(path, base));
    }
    for (size_t i = 0; i < paths.size(); ++i) {
      for (const double first : values[i]) {
        v1::Scenario one = base;
        Set(paths[i], first, one);
        answered += Answer(one, NameOf(paths[i]) + " " + std::to_string(first)).ok() ? 1 : 0;
        for (size_t j = i + 1; j < paths.size(); ++j) {
          v1::Scenario two = one;
          const double second = values[j].back();  // the largest allowed
          Set(paths[j], second, two);
          answered += Answer(two, NameOf(paths[i]) + " " + std::to_string(first) + ", " + NameOf(paths[j]) + " " +
                                      std::to_string(second))
                              .ok()
                          ? 1
                          : 0;
        }
      }
    }
  }
  EXPECT_GT(answered, 3000);
}

}  // namespace
}  // namespace foretoken::rpc
