#include "server/catalog/entries/engines.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "server/catalog/entries/snapshot.h"

namespace foretoken::catalog {
namespace {

Calibration Of(const std::string& hardware, const std::string& engine, bool continuous = false) {
  return {.id = hardware + "." + engine, .hardware_id = hardware, .engine = engine, .continuous = continuous};
}

std::shared_ptr<const HardwareRecord> Device(const std::string& id, const std::string& vendor, double bandwidth,
                                             std::vector<Calibration> calibrations = {}) {
  auto record = std::make_shared<HardwareRecord>();
  record->entry.mutable_spec()->set_id(id);
  record->entry.mutable_spec()->set_vendor(vendor);
  record->hardware.id = id;
  record->hardware.memory_bandwidth = BytesPerSecond(bandwidth);
  if (!calibrations.empty()) record->hardware.calibrations = std::make_shared<Calibrations>(std::move(calibrations));
  return record;
}

class EnginesTest : public testing::Test {
 protected:
  std::string Nearest(double bandwidth, const char* vendor, const char* engine, bool continuous = false) const {
    Hardware hardware{.id = "asked"};
    if (bandwidth > 0) hardware.memory_bandwidth = BytesPerSecond(bandwidth);
    const Calibration* found = engines_.Nearest(hardware, vendor, engine, continuous);
    return found == nullptr ? "" : found->id;
  }

  const Calibrations shipped_{{Of("small", "acme@1"), Of("large", "acme@1"), Of("large", "acme@3"), Of("", "fast"),
                               Of("other", "acme@1"), Of("nobodys", "acme@1"), Of("small", "served", true)}};
  const std::vector<std::shared_ptr<const HardwareRecord>> devices_ = {
      Device("large", "maker", 4e12, {[] {
               Calibration own = Of("large", "acme@3");
               own.id = "registered";
               own.bands[0] = BandRatio{.low = 0.9, .high = 1.1, .coverage = 0.8};
               return own;
             }()}),
      Device("nobodys", "", 2e12), Device("other", "rival", 1e12), Device("small", "maker", 1e12)};
  const Engines engines_{shipped_, devices_};
};

TEST_F(EnginesTest, ANameIsKnownWithAnyVersion) {
  for (const char* known : {"vllm", "sglang@main", "acme", "acme@77", "fast", "served@"}) {
    EXPECT_TRUE(engines_.Know(known)) << known;
  }
  for (const char* unknown : {"", "@1", "vlmm", "acmes", "VLLM"}) EXPECT_FALSE(engines_.Know(unknown)) << unknown;
}

TEST_F(EnginesTest, TheNearestNamesAreProposed) {
  EXPECT_EQ(engines_.Unknown("vlmm@1"), "unknown engine \"vlmm@1\"; did you mean vllm?");
  EXPECT_EQ(engines_.Unknown("xyzzy"),
            "unknown engine \"xyzzy\"; known: acme, fast, fastertransformer, llama.cpp, lmdeploy, served, sglang, "
            "tensorrt-llm, tgi, vllm");
}

TEST_F(EnginesTest, TheNearestVersionThenTheNearestBandwidth) {
  EXPECT_EQ(Nearest(1.1e12, "maker", "acme@1"), "small.acme@1");
  EXPECT_EQ(Nearest(3e12, "maker", "acme@1"), "large.acme@1");
  EXPECT_EQ(Nearest(1.1e12, "maker", "acme@3"), "registered") << "the version comes first";
  EXPECT_EQ(Nearest(1.1e12, "maker", "acme@9"), "registered");
  EXPECT_EQ(Nearest(1.1e12, "maker", "acme"), "registered") << "without a version the newest";
  EXPECT_EQ(Nearest(0, "maker", "acme@1"), "large.acme@1") << "of no stated bandwidth the first id";
  EXPECT_EQ(Nearest(1.1e12, "rival", "acme@3"), "other.acme@1");
  EXPECT_EQ(Nearest(1e12, "maker", "served", true), "small.served");
}

TEST_F(EnginesTest, NothingStandsInForWhatIsUnlike) {
  EXPECT_EQ(Nearest(1e12, "", "acme@1"), "") << "no vendor";
  EXPECT_EQ(Nearest(1e12, "third", "acme@1"), "");
  EXPECT_EQ(Nearest(1e12, "maker", "fast"), "") << "of no device";
  EXPECT_EQ(Nearest(1e12, "maker", "acme@1", true), "") << "of static batches";
  EXPECT_EQ(Nearest(1e12, "maker", "served"), "");
}

// On another device it is of the engine, and its bands say nothing.
TEST_F(EnginesTest, ARelativeIsOfNoDevice) {
  const Calibration* relative = engines_.Nearest(Hardware{.id = "asked"}, "maker", "acme@3", false);
  ASSERT_NE(relative, nullptr);
  EXPECT_EQ(relative->hardware_id, "");
  EXPECT_FALSE(relative->bands[0].has_value());
  EXPECT_EQ(relative->engine, "acme@3");
}

}  // namespace
}  // namespace foretoken::catalog
