// What is written to a catalog and read of it again.
#include "server/catalog/catalog.h"

#include <gtest/gtest.h>

#include "estimator/base/errors.h"
#include "tests/catalog/catalog_fixture.h"

namespace foretoken::catalog {
namespace {

TEST_F(CatalogTest, ARegisteredEntryShadowsABundledOneUntilItIsDeleted) {
  const auto catalog = Open();
  EXPECT_EQ(Bandwidth(*catalog, "chip-a"), 1e12);
  const v1::HardwareEntry entry = *catalog->PutHardware(Hardware("chip-a", 2e12), {});
  EXPECT_TRUE(entry.shadows_bundled());
  EXPECT_EQ(entry.update_time().seconds(), absl::ToUnixSeconds(kNow));
  EXPECT_EQ(Bandwidth(*catalog, "chip-a"), 2e12);
  EXPECT_EQ(Origin(*catalog, "chip-a"), v1::ENTRY_ORIGIN_REGISTERED);
  EXPECT_EQ(DetailOf(catalog->PutHardware(Hardware("chip-a", 3e12), {}).status()).reason, Reason::kAlreadyExists);
  ASSERT_TRUE(catalog->DeleteHardware("chip-a", {}).ok());
  EXPECT_EQ(Bandwidth(*catalog, "chip-a"), 1e12);
  EXPECT_EQ(DetailOf(catalog->DeleteHardware("chip-a", {})).reason, Reason::kBundledEntry);
  EXPECT_EQ(DetailOf(catalog->DeleteHardware("chip-b", {})).reason, Reason::kUnknownId);
}

TEST_F(CatalogTest, TheEtagOfABundledEntryStandsForIt) {
  const auto catalog = Open();
  const std::string etag = (*catalog->snapshot()->FindHardware("chip-a", ""))->entry.etag();
  EXPECT_TRUE(catalog->PutHardware(Hardware("chip-a", 2e12), {.etag = etag}).ok());
  EXPECT_EQ(DetailOf(catalog->PutHardware(Hardware("chip-a", 3e12), {.etag = etag}).status()).reason,
            Reason::kEtagMismatch);
}

TEST_F(CatalogTest, ValidateOnlyChecksEverythingAndStoresNothing) {
  const auto catalog = Open();
  EXPECT_TRUE(catalog->PutHardware(Hardware("chip-b", 2e12), {.validate_only = true}).ok());
  EXPECT_EQ(*store_.ReadRevision(absl::InfiniteFuture()), 0);
  EXPECT_EQ(Bandwidth(*catalog, "chip-b"), 0);
  ASSERT_TRUE(catalog->PutHardware(Hardware("chip-b", 2e12), {}).ok());
  EXPECT_EQ(DetailOf(catalog->PutHardware(Hardware("chip-b", 2e12), {.validate_only = true}).status()).reason,
            Reason::kAlreadyExists);
  const absl::Status invalid = catalog->PutHardware(Hardware("chip-c", -1), {.validate_only = true}).status();
  ASSERT_EQ(DetailOf(invalid).violations.size(), 1u);
  EXPECT_EQ(DetailOf(invalid).violations[0].field, "spec.memory_bandwidth_bytes_per_second");
}

TEST_F(CatalogTest, AnEntryIsReadAndPutBackAsItWas) {
  const auto catalog = Open();
  ASSERT_TRUE(catalog->PutHardware(Hardware("chip-a", 2e12), {.author = "me"}).ok());                // revision 1
  ASSERT_TRUE(catalog->PutHardware(Hardware("chip-a", 9e12), {.etag = "*", .author = "you"}).ok());  // revision 2
  EXPECT_EQ(catalog->HardwareAt("chip-a", 0)->origin(), v1::ENTRY_ORIGIN_BUNDLED);
  EXPECT_EQ(catalog->HardwareAt("chip-a", 1)->spec().memory_bandwidth_bytes_per_second(), 2e12);
  EXPECT_EQ(catalog->HardwareAt("chip-a", 2)->spec().memory_bandwidth_bytes_per_second(), 9e12);
  EXPECT_EQ(DetailOf(catalog->HardwareAt("chip-a", 3).status()).reason, Reason::kInvalidField);
  EXPECT_EQ(DetailOf(catalog->HardwareAt("chip-b", 2).status()).reason, Reason::kUnknownId);
  EXPECT_EQ((*catalog->RollbackHardware("chip-a", 1, {}))->spec().memory_bandwidth_bytes_per_second(), 2e12);
  EXPECT_EQ(Bandwidth(*catalog, "chip-a"), 2e12);
  const auto history = *catalog->History(EntryKind::kHardware, "chip-a");
  ASSERT_EQ(history.size(), 3u);
  EXPECT_EQ(history[0].action, WriteAction::kRollback);
  EXPECT_EQ(history[1].author, "you");
  EXPECT_FALSE(*catalog->RollbackHardware("chip-a", 0, {})) << "nothing was registered then";
  EXPECT_EQ(Bandwidth(*catalog, "chip-a"), 1e12);
  EXPECT_EQ(DetailOf(catalog->History(EntryKind::kHardware, "chip-b").status()).reason, Reason::kUnknownId);
}

TEST_F(CatalogTest, ARollbackHeedsItsEtag) {
  const auto catalog = Open();
  const std::string first = catalog->PutHardware(Hardware("chip-b", 2e12), {})->etag();
  ASSERT_TRUE(catalog->PutHardware(Hardware("chip-b", 9e12), {.etag = "*"}).ok());
  const absl::Status late = catalog->RollbackHardware("chip-b", 1, {.etag = first}).status();
  EXPECT_EQ(DetailOf(late).reason, Reason::kEtagMismatch);
  EXPECT_EQ(Bandwidth(*catalog, "chip-b"), 9e12);
}

TEST_F(CatalogTest, ARevisionThatIsNoLongerKeptIsRefused) {
  const auto catalog = Open();
  for (int i = 1; i <= kKeptRevisions + 1; ++i) {
    ASSERT_TRUE(catalog->PutHardware(Hardware("chip-b", i), {.etag = "*"}).ok());
  }
  const absl::Status status = catalog->HardwareAt("chip-b", 1).status();
  EXPECT_EQ(DetailOf(status).reason, Reason::kRevisionNotKept);
  EXPECT_EQ(status.message(),
            "store_revision 1; the history of \"chip-b\" begins at 2: the last 10 revisions are kept");
}

TEST_F(CatalogTest, ADryRunHeedsARequestIdThatWasUsed) {
  const auto catalog = Open();
  ASSERT_TRUE(catalog->PutHardware(Hardware("chip-b", 2e12), {.request_id = "job", .payload_digest = "1"}).ok());
  const absl::Status other =
      catalog
          ->PutHardware(Hardware("chip-b", 3e12), {.request_id = "job", .payload_digest = "2", .validate_only = true})
          .status();
  EXPECT_EQ(DetailOf(other).reason, Reason::kRequestIdReused);
}

// A CI job on one replica replaces what another job just registered at another replica.
TEST_F(CatalogTest, AWriteKeepsTheProfilesOfTheVersionThatItReplaces) {
  const auto here = Open();
  const auto there = Open();
  v1::HardwareSpec spec = Hardware("chip-b", 2e12);
  spec.add_linear_profiles()->set_model_id("m");
  spec.mutable_linear_profiles(0)->set_prefill_tokens_per_second(1000);
  const std::string etag = here->PutHardware(spec, {})->etag();
  EXPECT_EQ(there->PutHardware(Hardware("chip-b", 3e12), {.etag = etag})->spec().linear_profiles_size(), 1);
}

TEST_F(CatalogTest, ProfilesOutliveAChangeOfTheFigures) {
  const auto catalog = Open();
  v1::HardwareSpec spec = Hardware("chip-b", 2e12);
  v1::LinearProfile& profile = *spec.add_linear_profiles();
  profile.set_model_id("m");
  profile.set_prefill_tokens_per_second(1000);
  ASSERT_TRUE(catalog->PutHardware(spec, {}).ok());
  const v1::HardwareEntry entry = *catalog->PutHardware(Hardware("chip-b", 3e12), {.etag = "*"});
  EXPECT_EQ(entry.spec().linear_profiles_size(), 1);
}

TEST_F(CatalogTest, UnknownIdsComeWithTheClosest) {
  const auto catalog = Open();
  const absl::Status status = catalog->snapshot()->FindHardware("chip-q", "scenario.hardware_id").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(status.message(), "unknown hardware \"chip-q\"; did you mean chip-a?");
  EXPECT_EQ(DetailOf(status).violations[0].field, "scenario.hardware_id");
}

TEST_F(CatalogTest, ARefusedEtagNamesTheBundledOneWhereNothingIsRegistered) {
  const auto catalog = Open();
  const std::string bundled = (*catalog->snapshot()->FindHardware("chip-a", ""))->entry.etag();
  const absl::Status refused = catalog->PutHardware(Hardware("chip-a", 2e12), {.etag = "r99"}).status();
  EXPECT_EQ(DetailOf(refused).reason, Reason::kEtagMismatch);
  EXPECT_EQ(DetailOf(refused).current_etag, bundled);
}

TEST_F(CatalogTest, LosingARaceForABundledEntryIsAMismatchOfEtags) {
  const auto first = Open();
  const auto second = Open();  // as another process, which has not seen the first one's write yet
  const std::string bundled = (*first->snapshot()->FindHardware("chip-a", ""))->entry.etag();
  const std::string won = first->PutHardware(Hardware("chip-a", 2e12), {.etag = bundled})->etag();
  const absl::Status lost = second->PutHardware(Hardware("chip-a", 3e12), {.etag = bundled}).status();
  EXPECT_EQ(DetailOf(lost).reason, Reason::kEtagMismatch);
  EXPECT_EQ(DetailOf(lost).current_etag, won);
}

TEST_F(CatalogTest, LosingARaceToDeleteIsNotAboutTheBundledEntry) {
  const auto first = Open();
  ASSERT_TRUE(first->PutHardware(Hardware("chip-a", 2e12), {}).ok());
  const auto second = Open();  // as another process
  ASSERT_TRUE(first->DeleteHardware("chip-a", {}).ok());
  const absl::Status lost = second->DeleteHardware("chip-a", {});
  EXPECT_EQ(DetailOf(lost).reason, Reason::kUnknownId) << lost;
  EXPECT_EQ(lost.message(), "\"chip-a\" is not registered any more: another call has deleted it");
  // It has learned of it: what is left is the bundled one.
  EXPECT_EQ(DetailOf(second->DeleteHardware("chip-a", {})).reason, Reason::kBundledEntry);
}

TEST_F(CatalogTest, ADryRunSeesWhatAnotherProcessRegistered) {
  const auto first = Open();
  const auto second = Open();
  ASSERT_TRUE(first->PutHardware(Hardware("chip-b", 2e12), {}).ok());
  const auto dry = second->PutHardware(Hardware("chip-b", 3e12), {.validate_only = true});
  EXPECT_EQ(DetailOf(dry.status()).reason, Reason::kAlreadyExists);
}

}  // namespace
}  // namespace foretoken::catalog
