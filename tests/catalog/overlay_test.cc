// How bundle and store make one catalog, change by change.
#include "server/catalog/entries/overlay.h"

#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"

namespace foretoken::catalog {
namespace {

Bundle TestBundle() {
  return *ParseBundle({{"hardware/chip-a.textproto",
                        "id: \"chip-a\" memory_bandwidth_bytes_per_second: 1e12 sources { citation: \"x\" }"}});
}

StoredEntry Hardware(const std::string& id, double bandwidth, int64_t revision) {
  v1::HardwareSpec spec;
  spec.set_id(id);
  spec.set_memory_bandwidth_bytes_per_second(bandwidth);
  return {EntryKind::kHardware, id, spec.SerializeAsString(), "r" + std::to_string(revision), revision, {}, ""};
}

StoredEntry Gone(const std::string& id, int64_t revision) {
  return {EntryKind::kHardware, id, std::nullopt, "", revision, {}, ""};
}

StoredEntry Model(const std::string& id, v1::Dtype dtype, int64_t revision) {
  v1::ModelSpec spec;
  spec.set_id(id);
  spec.set_num_hidden_layers(4);
  spec.set_hidden_size(512);
  spec.set_num_attention_heads(8);
  spec.set_num_key_value_heads(2);
  spec.set_intermediate_size(1536);
  spec.set_vocab_size(32000);
  spec.set_native_dtype(dtype);
  return {EntryKind::kModel, id, spec.SerializeAsString(), absl::StrCat("r", revision), revision, {}, ""};
}

const HardwareRecord* Find(const Snapshot& snapshot, const std::string& id) {
  const auto found = snapshot.FindHardware(id, "");
  return found.ok() ? *found : nullptr;
}

double Bandwidth(const Snapshot& snapshot, const std::string& id) {
  const HardwareRecord* const record = Find(snapshot, id);
  return record == nullptr ? 0 : record->hardware.memory_bandwidth->value();
}

TEST(OverlayTest, ChangesAddReplaceAndUncover) {
  Overlay overlay(TestBundle());
  ASSERT_TRUE(overlay.Reset({{Hardware("chip-b", 2e12, 1)}, 1}));
  overlay.Apply({{Hardware("chip-a", 3e12, 2), Hardware("chip-c", 4e12, 3), Gone("chip-b", 4)}, 4}, 1);
  auto snapshot = overlay.MakeSnapshot();
  EXPECT_EQ(snapshot->revision().store_revision(), 4);
  EXPECT_EQ(snapshot->hardware().size(), 2u);
  EXPECT_EQ(Bandwidth(*snapshot, "chip-a"), 3e12);
  EXPECT_EQ(Bandwidth(*snapshot, "chip-c"), 4e12);
  overlay.Apply({{Gone("chip-a", 5)}, 5}, 4);
  snapshot = overlay.MakeSnapshot();
  EXPECT_EQ(Bandwidth(*snapshot, "chip-a"), 1e12);
  EXPECT_EQ(Find(*snapshot, "chip-a")->entry.origin(), v1::ENTRY_ORIGIN_BUNDLED);
}

TEST(OverlayTest, WhatDidNotChangeIsNotReadAgain) {
  Overlay overlay(TestBundle());
  overlay.Reset({{Hardware("chip-b", 2e12, 1), Hardware("chip-c", 2e12, 2)}, 2});
  const auto before = overlay.MakeSnapshot();
  overlay.Reset({{Hardware("chip-b", 2e12, 1), Hardware("chip-c", 5e12, 3)}, 3});
  const auto after = overlay.MakeSnapshot();
  EXPECT_EQ(Find(*before, "chip-b"), Find(*after, "chip-b"));
  EXPECT_NE(Find(*before, "chip-c"), Find(*after, "chip-c"));
  EXPECT_FALSE(overlay.Reset({{Hardware("chip-b", 2e12, 1), Hardware("chip-c", 5e12, 3)}, 3}));
  EXPECT_TRUE(overlay.Reset({{Hardware("chip-c", 5e12, 3)}, 4}));  // a delete that nobody told
  EXPECT_EQ(Find(*overlay.MakeSnapshot(), "chip-b"), nullptr);
}

TEST(OverlayTest, KnownChangesAreSkipped) {
  Overlay overlay(TestBundle());
  overlay.Reset({{Hardware("chip-b", 2e12, 5)}, 5});
  overlay.Apply({{Hardware("chip-b", 1e12, 4), Hardware("chip-c", 1e12, 6)}, 6}, 5);
  EXPECT_EQ(Bandwidth(*overlay.MakeSnapshot(), "chip-b"), 2e12);
  EXPECT_EQ(Bandwidth(*overlay.MakeSnapshot(), "chip-c"), 1e12);
}

TEST(OverlayTest, WhatCannotBeReadIsNamedUntilItIsReplaced) {
  Overlay overlay(TestBundle());
  StoredEntry garbage = Hardware("chip-a", 2e12, 1);
  garbage.value = "\xff\xff";
  StoredEntry unknown{EntryKind::kUnknown, "7/x", std::nullopt, "r2", 2, {}, "kind 7"};
  overlay.Reset({{garbage, unknown}, 2});
  ASSERT_EQ(overlay.skipped().size(), 2u);
  EXPECT_EQ(overlay.skipped().at("hardware/chip-a").reason(), "not a serialised entry");
  EXPECT_EQ(overlay.skipped().at("unknown/7/x").reason(), "kind 7");
  EXPECT_EQ(Bandwidth(*overlay.MakeSnapshot(), "chip-a"), 1e12) << "the bundled entry shows";
  overlay.Apply({{Hardware("chip-a", 3e12, 3)}, 3}, 2);
  EXPECT_EQ(overlay.skipped().size(), 1u);
  EXPECT_EQ(Bandwidth(*overlay.MakeSnapshot(), "chip-a"), 3e12);
  overlay.Reset({{Hardware("chip-a", 3e12, 3)}, 4});
  EXPECT_TRUE(overlay.skipped().empty());
}

// As many entries as a large fleet has: the first reading is quick, and a change touches what changed alone.
TEST(OverlayTest, TenThousandOfEachKind) {
  constexpr int kEntries = 10'000;
  StoreContents contents{.entries = {}, .revision = 2 * kEntries};
  for (int i = 0; i < kEntries; ++i) {
    contents.entries.push_back(Hardware(absl::StrCat("chip-", i), 2e12, i + 1));
    contents.entries.push_back(Model(absl::StrCat("model-", i), v1::DTYPE_BF16, kEntries + i + 1));
  }
  Overlay overlay(TestBundle());
  const absl::Time began = absl::Now();
  overlay.Reset(contents);
  EXPECT_LT(absl::Now() - began, absl::Seconds(3));
  const auto before = overlay.MakeSnapshot();
  EXPECT_EQ(before->hardware().size(), kEntries + 1u);
  overlay.Apply({{Hardware("chip-77", 3e12, 2 * kEntries + 1)}, 2 * kEntries + 1}, 2 * kEntries);
  const auto after = overlay.MakeSnapshot();
  EXPECT_EQ(&before->models(), &after->models()) << "the other kind is the same collection";
  int changed = 0;
  for (size_t i = 0; i < before->hardware().size(); ++i) changed += before->hardware()[i] != after->hardware()[i];
  EXPECT_EQ(changed, 1);
}

// A profile that leaves its dtypes open follows its model, whichever of the two comes or changes first.
TEST(OverlayTest, ProfilesFollowTheirModel) {
  Overlay overlay(TestBundle());
  v1::HardwareSpec spec;
  spec.set_id("chip-b");
  spec.add_linear_profiles()->set_model_id("m");
  spec.mutable_linear_profiles(0)->set_prefill_tokens_per_second(1000);
  overlay.Reset({{{EntryKind::kHardware, "chip-b", spec.SerializeAsString(), "r1", 1, {}, ""}}, 1});
  const auto dtype = [&overlay] {
    return Find(*overlay.MakeSnapshot(), "chip-b")->hardware.linear_profiles[0].key.weight_dtype;
  };
  EXPECT_EQ(dtype(), Dtype::kUnspecified);
  overlay.Apply({{Model("m", v1::DTYPE_FP16, 2)}, 2}, 1);
  EXPECT_EQ(dtype(), Dtype::kFp16);
  overlay.Apply({{Model("m", v1::DTYPE_FP8, 3)}, 3}, 2);
  EXPECT_EQ(dtype(), Dtype::kFp8);
}

}  // namespace
}  // namespace foretoken::catalog
