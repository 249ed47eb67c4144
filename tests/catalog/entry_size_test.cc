// How large an entry may be that is written, and what becomes of one that is larger.
#include <gtest/gtest.h>

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "estimator/base/errors.h"
#include "tests/catalog/catalog_fixture.h"

namespace foretoken::catalog {
namespace {

v1::HardwareSpec SpecOfBytes(int64_t bytes) {
  v1::HardwareSpec spec;
  spec.set_id("large");
  spec.set_memory_bandwidth_bytes_per_second(1e12);
  while (static_cast<int64_t>(spec.ByteSizeLong()) < bytes) {
    const int64_t left = bytes - static_cast<int64_t>(spec.ByteSizeLong());
    const int64_t text = left > 4200 ? 4000 : std::max<int64_t>(left - (left > 132 ? 6 : 4), 0);
    spec.add_sources()->set_citation(std::string(static_cast<size_t>(text), 'x'));
  }
  return spec;
}

TEST(EntrySizeTest, AnEntryIsBoundedAndALargerOneThatIsThereIsRead) {
  MemoryStore store;
  const v1::HardwareSpec larger = SpecOfBytes(kMaxEntryBytes + 1);
  ASSERT_GT(static_cast<int64_t>(larger.ByteSizeLong()), kMaxEntryBytes);
  // As an older program wrote it.
  const StoreWrite old{.kind = EntryKind::kHardware, .id = "large", .value = larger.SerializeAsString(), .now = kNow};
  const int64_t revision = store.Write(old)->revision;
  const auto catalog = *Catalog::Open(OneEntry(), std::make_unique<SharedStore>(store), [] { return kNow; });
  EXPECT_TRUE(catalog->snapshot()->FindHardware("large", "").ok());
  const absl::Status status = catalog->PutHardware(larger, {.etag = "*"}).status();
  EXPECT_EQ(DetailOf(status).reason, Reason::kLimitExceeded);
  EXPECT_EQ(status.message(),
            absl::StrCat("hardware \"large\" has ", larger.ByteSizeLong(), " bytes; allowed up to 256000"));
  EXPECT_EQ(DetailOf(catalog->RollbackHardware("large", revision, {}).status()).reason, Reason::kLimitExceeded);
  const v1::HardwareSpec largest = SpecOfBytes(kMaxEntryBytes - 10);
  EXPECT_TRUE(catalog->PutHardware(largest, {.etag = "*"}).ok());
  EXPECT_TRUE(catalog->HardwareAt("large", revision).ok());
}

}  // namespace
}  // namespace foretoken::catalog
