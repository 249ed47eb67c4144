// A registration's two forms stay one while it grows.
#include "server/catalog/entries/hardware_draft.h"

#include <gmock/gmock.h>
#include <google/protobuf/descriptor.h>
#include <google/protobuf/text_format.h>

#include <limits>
#include <utility>

#include "estimator/base/errors.h"
#include "server/catalog/spec/parse.h"
#include "tests/catalog/catalog_fixture.h"

namespace foretoken::catalog {
namespace {

using testing::HasSubstr;

void AddProfile(const std::string& model_id, double tokens_per_second, v1::HardwareSpec& spec) {
  v1::LinearProfile& profile = *spec.add_linear_profiles();
  profile.set_model_id(model_id);
  profile.set_prefill_tokens_per_second(tokens_per_second);
}

TEST(HardwareDraftTest, ListsThatGrewAreReadAgain) {
  v1::HardwareSpec spec = Hardware("chip-b", 2e12);
  AddProfile("llama", 100, spec);
  HardwareDraft draft(spec);
  ASSERT_TRUE(draft.hardware().ok());
  AddProfile("qwen", 200, draft.lists());
  ASSERT_TRUE(draft.hardware().ok());
  ASSERT_EQ(draft.hardware()->linear_profiles.size(), 2u);
  EXPECT_EQ(draft.hardware()->linear_profiles[0].prefill_tokens_per_second, 100);
  EXPECT_EQ(draft.hardware()->linear_profiles[1].prefill_tokens_per_second, 200);
  EXPECT_EQ(draft.hardware()->memory_bandwidth->value(), 2e12);
  draft.lists().mutable_linear_profiles()->DeleteSubrange(0, 1);
  EXPECT_EQ(draft.hardware()->linear_profiles.size(), 1u);
}

TEST(HardwareDraftTest, WhatIsAddedIsChecked) {
  HardwareDraft draft(Hardware("chip-b", 2e12));
  AddProfile("llama", 100, draft.lists());
  AddProfile("llama", 200, draft.lists());
  const absl::Status status = draft.hardware().status();
  EXPECT_EQ(DetailOf(status).reason, Reason::kInvalidField);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("repeats the model, engine and deployment of linear_profiles[0]"));
  EXPECT_EQ(status, ParseHardware(draft.spec()).status());
}

TEST(HardwareDraftTest, FiguresThatAreWrongStayWrong) {
  HardwareDraft draft(Hardware("chip-b", -1));
  AddProfile("llama", 100, draft.lists());
  EXPECT_EQ(draft.hardware().status(), ParseHardware(Hardware("chip-b", -1)).status());
}

TEST(ParseHardwareTest, IdlePowerIsAtMostTheTdp) {
  v1::HardwareSpec spec = Hardware("chip-b", 2e12);
  spec.set_tdp_watts(700);
  spec.set_idle_watts(700);
  EXPECT_TRUE(ParseHardware(spec).ok());
  spec.set_idle_watts(701);
  const absl::Status status = ParseHardware(spec).status();
  ASSERT_EQ(DetailOf(status).violations.size(), 1u) << status;
  EXPECT_EQ(DetailOf(status).violations[0].field, "idle_watts");
  EXPECT_THAT(DetailOf(status).violations[0].description, HasSubstr("701; allowed at most tdp_watts 700"));
}

// A number that parse_hardware.cc forgets would be stored whatever it is.
// The name of the link says whether it is PCIe.
TEST(ParseHardwareTest, ALinkOverPcieIsKnownByItsName) {
  v1::HardwareSpec spec = Hardware("chip-b", 2e12);
  for (const auto& [name, is_pcie] :
       {std::pair{"", false}, {"NVLink4", false}, {"NVLink bridge", false}, {"PCIe", true}, {"PCIE 5.0 x16", true}}) {
    spec.set_interconnect_name(name);
    EXPECT_EQ(ParseHardware(spec)->interconnect_is_pcie, is_pcie) << name;
  }
}

TEST(ParseHardwareTest, NoNumberIsBelowZeroOrUnknown) {
  const google::protobuf::Descriptor& type = *v1::HardwareSpec::descriptor();
  for (int i = 0; i < type.field_count(); ++i) {
    const google::protobuf::FieldDescriptor& field = *type.field(i);
    if (field.is_repeated() || field.cpp_type() != google::protobuf::FieldDescriptor::CPPTYPE_DOUBLE) continue;
    for (const double value : {-1.0, std::numeric_limits<double>::quiet_NaN()}) {
      v1::HardwareSpec spec = Hardware("chip-b", 2e12);
      spec.GetReflection()->SetDouble(&spec, &field, value);
      const absl::Status status = ParseHardware(spec).status();
      ASSERT_FALSE(status.ok()) << field.name() << " " << value;
      EXPECT_EQ(DetailOf(status).violations[0].field, field.name()) << value;
    }
  }
}

TEST_F(CatalogTest, ADraftInheritsTheListsThatItLeavesEmpty) {
  const auto catalog = Open();
  v1::HardwareSpec first = Hardware("chip-b", 2e12);
  AddProfile("llama", 100, first);
  ASSERT_TRUE(catalog->PutHardware(first, {}).ok());
  HardwareDraft heir(Hardware("chip-b", 3e12));
  EXPECT_FALSE(heir.has_inherited());
  heir.Inherit(*catalog->snapshot());
  EXPECT_TRUE(heir.has_inherited());
  ASSERT_EQ(heir.spec().linear_profiles_size(), 1);
  EXPECT_EQ(heir.hardware()->linear_profiles[0].prefill_tokens_per_second, 100);
  v1::HardwareSpec own = Hardware("chip-b", 3e12);
  AddProfile("qwen", 200, own);
  HardwareDraft with_its_own(own);
  with_its_own.Inherit(*catalog->snapshot());
  ASSERT_EQ(with_its_own.spec().linear_profiles_size(), 1);
  EXPECT_EQ(with_its_own.spec().linear_profiles(0).model_id(), "qwen");
}

// A draft that has inherited is stored as it is: the store is asked for its revision by the write alone.
TEST_F(CatalogTest, ADraftThatHasInheritedIsNotCaughtUpAgain) {
  SharedStore* store = nullptr;
  const auto catalog = Open(&store);
  HardwareDraft draft(Hardware("chip-b", 2e12));
  draft.Inherit(*catalog->snapshot());
  store->fault = Refusal(Reason::kStoreUnavailable, "", "away");  // of readings; writes go through
  EXPECT_EQ(catalog->PutHardware(Hardware("chip-c", 2e12), {}).status().message(), "away; nothing was written");
  EXPECT_TRUE(catalog->PutHardware(draft, {}).ok());
}

}  // namespace
}  // namespace foretoken::catalog
