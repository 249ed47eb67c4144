#include "server/catalog/entries/bundle.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "server/catalog/entries/embedded.h"
#include "tests/paths.h"

namespace foretoken::catalog {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAreArray;
using ::testing::IsEmpty;

std::vector<std::string> Lines(const fs::path& path) {
  std::ifstream in(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

// One malformed catalog a rule; expected.txt beside it holds what must be said of it, to the letter.
class BadCatalogTest : public testing::TestWithParam<std::string> {};

TEST_P(BadCatalogTest, SaysExactlyWhatIsWrong) {
  const std::string dir = SourcePath("tests/bad_catalogs/") + GetParam();
  const std::vector<std::string> expected = Lines(dir + "/expected.txt");
  ASSERT_FALSE(expected.empty());
  EXPECT_THAT(CheckBundle(dir), ElementsAreArray(expected));
  EXPECT_EQ(LoadBundle(dir).status().code(), absl::StatusCode::kInvalidArgument);
}

INSTANTIATE_TEST_SUITE_P(Rules, BadCatalogTest,
                         testing::Values("alias_taken", "bad_id", "calibration_faults", "duplicate_id", "empty_folder",
                                         "file_name_and_id_differ", "missing_source", "no_source_at_all",
                                         "not_a_textproto", "not_finite", "out_of_range_number", "parameter_count",
                                         "repeated_field", "several_faults_at_once", "too_much_text",
                                         "unknown_enum_value", "unknown_field", "wrong_type"),
                         [](const auto& info) { return info.param; });

TEST(BundledCatalogTest, HasNoFaults) { EXPECT_THAT(CheckBundle(SourcePath("catalogs")), IsEmpty()); }

TEST(BundledCatalogTest, HoldsWhatThePeopleWhoAskExpect) {
  const Bundle bundle = *LoadBundle(SourcePath("catalogs"));
  EXPECT_GE(bundle.hardware.size(), 100u);
  EXPECT_GE(bundle.models.size(), 175u);
  EXPECT_TRUE(std::any_of(bundle.models.begin(), bundle.models.end(),
                          [](const ModelRecord& r) { return r.entry.spec().id() == "llama-3.1-70b"; }));
  EXPECT_TRUE(std::any_of(bundle.hardware.begin(), bundle.hardware.end(), [](const HardwareRecord& r) {
    return r.entry.spec().id() == "nvidia-h100-sxm-80gb" && r.hardware.memory_bandwidth->value() == 3.35e12;
  }));
}

// Two GPUs whose power no source states.
TEST(BundledCatalogTest, EveryGpuStatesItsLinkAndItsPower) {
  const Bundle bundle = *LoadBundle(SourcePath("catalogs"));
  std::vector<std::string> without_link, without_power;
  for (const HardwareRecord& record : bundle.hardware) {
    if (record.entry.spec().kind() != v1::HARDWARE_KIND_GPU) continue;
    if (!record.hardware.interconnect) without_link.push_back(record.hardware.id);
    if (!record.hardware.tdp_watts) without_power.push_back(record.hardware.id);
  }
  EXPECT_THAT(without_link, IsEmpty());
  EXPECT_THAT(without_power, ElementsAreArray({"amd-mi455x-432gb", "nvidia-dgx-station-gb300-252gb"}));
}

TEST(EmbeddedCatalogTest, IsTheFolder) {
  const Bundle embedded = *LoadEmbeddedBundle();
  const Bundle folder = *LoadBundle(SourcePath("catalogs"));
  EXPECT_EQ(embedded.digest, folder.digest);
  EXPECT_EQ(embedded.hardware.size(), folder.hardware.size());
  EXPECT_EQ(embedded.models.size(), folder.models.size());
}

TEST(LoadBundleTest, NamesAFolderThatIsNotThere) {
  const absl::Status status = LoadBundle("/nonexistent/catalogs").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(status.message(), "catalog folder /nonexistent/catalogs is not there");
}

}  // namespace
}  // namespace foretoken::catalog
