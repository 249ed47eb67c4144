#include "server/catalog/entries/snapshot.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "estimator/base/errors.h"
#include "estimator/step/machine.h"
#include "server/catalog/entries/bundle.h"
#include "server/catalog/entries/embedded.h"
#include "server/catalog/entries/overlay.h"

namespace foretoken::catalog {
namespace {

TEST(SnapshotTest, AnIdTooLongToBeOneIsRefusedWithoutALookAtTheOthers) {
  const Bundle bundle =
      *ParseBundle({{"hardware/chip-a.textproto",
                     "id: \"chip-a\" memory_bandwidth_bytes_per_second: 1e12 sources { citation: \"x\" }"}});
  const auto catalog = Overlay(bundle).MakeSnapshot();
  const Snapshot& snapshot = *catalog;
  struct Case {
    const char* name;
    std::string id;
    Reason reason;
    std::string message;
  };
  const std::string shown(64, 'x');
  const Case cases[] = {
      {"short", "chip-b", Reason::kUnknownId, "unknown hardware \"chip-b\"; did you mean chip-a?"},
      {"longest", std::string(128, 'x'), Reason::kUnknownId, "unknown hardware \"" + shown + "...\""},
      {"too long", std::string(129, 'x'), Reason::kInvalidField,
       "hardware id \"" + shown + "...\" of 129 characters; allowed up to 128"},
      {"megabytes", std::string(3'000'000, 'x'), Reason::kInvalidField,
       "hardware id \"" + shown + "...\" of 3000000 characters; allowed up to 128"},
      {"not printable", "\n\x01", Reason::kUnknownId, "unknown hardware \"??\""},
  };
  for (const Case& c : cases) {
    const absl::Status status = snapshot.FindHardware(c.id, "hardware_id").status();
    EXPECT_EQ(DetailOf(status).reason, c.reason) << c.name;
    EXPECT_EQ(status.message(), c.message) << c.name;
    EXPECT_EQ(DetailOf(snapshot.FindModel(c.id, "model_id").status()).reason, c.reason) << c.name;
  }
}

TEST(SnapshotTest, WordsInAnotherOrderAndRepositoryNamesFindTheirId) {
  const auto entry = [](const std::string& id) {
    return CatalogFile{"hardware/" + id + ".textproto",
                       "id: \"" + id + "\" memory_bandwidth_bytes_per_second: 1e12 sources { citation: \"x\" }"};
  };
  const Bundle bundle = *ParseBundle(
      {entry("acme-a10-24gb"), entry("acme-h100-sxm-80gb"), entry("acme-h100-nvl-94gb"), entry("other-9000")});
  const auto catalog = Overlay(bundle).MakeSnapshot();
  for (const char* asked : {"acme-h100-80gb-sxm", "ACME-H100-80GB-SXM", "some/Acme-H100-SXM-80G"}) {
    const std::string message(catalog->FindHardware(asked, "hardware_id").status().message());
    EXPECT_NE(message.find("did you mean acme-h100-sxm-80gb"), std::string::npos) << message;
  }
}

// docs/model/step.md: llama.cpp was measured on the A100 40GB and the H100 SXM, and is asked
// about anything.
TEST(SnapshotTest, AnEngineReadsMoreOfABandwidthThatMoreLanesAskFor) {
  const auto snapshot = Overlay(*LoadEmbeddedBundle()).MakeSnapshot();
  const Calibration* engine = snapshot->calibrations().Find("", "llama.cpp", "", /*continuous=*/false);
  ASSERT_NE(engine, nullptr);
  const auto share = [&](const char* id) {
    return TransferredTo((*snapshot->FindHardware(id, ""))->hardware, engine->efficiencies).weight_read;
  };
  EXPECT_NEAR(engine->efficiencies.weight_read_balance, std::sqrt(19.5) / 1.555, 1e-6);
  EXPECT_NEAR(engine->efficiencies.weight_read, 0.529, 5e-4);
  EXPECT_EQ(share("nvidia-a100-sxm-80gb"), engine->efficiencies.weight_read);
  EXPECT_NEAR(share("nvidia-h100-pcie-80gb"), 0.652, 5e-4);
  EXPECT_EQ(share("nvidia-rtx-3090-24gb"), 0.75);
}

}  // namespace
}  // namespace foretoken::catalog
