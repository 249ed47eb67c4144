// Other names of entries: which are allowed, whose they are, and what is refused.
#include "server/catalog/spec/aliases.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "estimator/base/errors.h"
#include "server/catalog/entries/embedded.h"
#include "server/catalog/spec/parse.h"
#include "tests/catalog/catalog_fixture.h"

namespace foretoken::catalog {
namespace {

using ::testing::ElementsAreArray;
using ::testing::HasSubstr;

v1::HardwareSpec Named(const std::string& id, const std::vector<std::string>& aliases) {
  v1::HardwareSpec spec = Hardware(id, 2e12);
  for (const std::string& alias : aliases) spec.add_aliases(alias);
  return spec;
}

StoredEntry Stored(const v1::HardwareSpec& spec, int64_t revision) {
  return {EntryKind::kHardware, spec.id(), spec.SerializeAsString(), absl::StrCat("r", revision), revision, {}, ""};
}

CatalogFile File(const std::string& id, const std::string& alias) {
  return {"hardware/" + id + ".textproto",
          "id: \"" + id + "\" aliases: \"" + alias +
              "\" memory_bandwidth_bytes_per_second: 1e12 sources { citation: \"x\" }"};
}

std::string IdOf(const Snapshot& snapshot, const std::string& name) {
  const HardwareRecord* const record = snapshot.LookUpHardware(name);
  return record == nullptr ? "" : record->entry.spec().id();
}

TEST(AliasesTest, WhatMayBeOne) {
  const std::string longest(128, 'x');
  const std::string allowed = "; allowed 1 to 128 printable ASCII characters, no space first or last";
  struct Case {
    const char* name;
    std::vector<std::string> aliases;
    std::vector<std::string> faults;
  };
  const Case cases[] = {
      {"drivers, labels, repositories, tools", {"NVIDIA H100 80GB HBM3", "a-b", "meta-llama/Llama", "h100_sxm"}, {}},
      {"longest", {longest}, {}},
      {"empty", {""}, {"aliases[0] \"\"" + allowed}},
      {"too long", {longest + "x"}, {"aliases[0] \"" + std::string(64, 'x') + "...\"" + allowed}},
      {"space first", {"a", " a b"}, {"aliases[1] \" a b\"" + allowed}},
      {"control character", {"a\nb"}, {"aliases[0] \"a?b\"" + allowed}},
      {"not ASCII", {"\xc3\xa4"}, {"aliases[0] \"??\"" + allowed}},
      {"its own id", {"Chip-A"}, {"aliases[0] \"Chip-A\" is the id of its entry; allowed: other names"}},
      {"twice", {"one", "ONE"}, {"aliases[1] \"ONE\" repeats an alias before it; allowed once"}},
      {"too many", std::vector<std::string>(33, "x"), {"aliases has 33; allowed up to 32"}},
  };
  for (const Case& c : cases) {
    std::vector<std::string> faults;
    for (const auto& violation : DetailOf(ParseHardware(Named("chip-a", c.aliases)).status()).violations) {
      faults.push_back(violation.description);
    }
    EXPECT_THAT(faults, ElementsAreArray(c.faults)) << c.name;
  }
}

TEST(AliasesTest, ANameFindsItsEntryInEitherCase) {
  const auto snapshot = Overlay(*ParseBundle({File("chip-a", "Acme One"), File("chip-b", "CHIP-C")})).MakeSnapshot();
  for (const char* name : {"chip-a", "CHIP-A", "Acme One", "acme one", "ACME ONE"}) {
    EXPECT_EQ(IdOf(*snapshot, name), "chip-a") << name;
  }
  EXPECT_EQ(IdOf(*snapshot, "chip-c"), "chip-b");
  for (const std::string& name : {std::string("acme"), std::string("Acme-One"), std::string(), std::string(500, 'x')}) {
    EXPECT_EQ(IdOf(*snapshot, name), "") << name;
  }
}

TEST(AliasesTest, AMistypedAliasIsAnsweredWithTheId) {
  const auto snapshot = Overlay(*ParseBundle({File("chip-a", "owner/Some-Name"), File("chip-b", "x")})).MakeSnapshot();
  EXPECT_EQ(snapshot->FindHardware("", "").status().message(), "unknown hardware \"\"");
  EXPECT_EQ(snapshot->FindHardware("y", "").status().message(), "unknown hardware \"y\"");
  EXPECT_EQ(snapshot->FindHardware("owner/SomeXName", "").status().message(),
            "unknown hardware \"owner/SomeXName\"; did you mean chip-a?");
  EXPECT_EQ(snapshot->FindHardware("Owner/Some-Nam", "").status().message(),
            "unknown hardware \"Owner/Some-Nam\"; did you mean chip-a?");
  EXPECT_EQ(snapshot->FindHardware("owner/Some-Other-Name", "").status().message(),
            "unknown hardware \"owner/Some-Other-Name\"");
}

// Bundles and stores change apart from each other, so a name may be claimed twice.
TEST(AliasesTest, AnIdComesFirstThenARegisteredAliasThenABundledOne) {
  Overlay overlay(*ParseBundle({File("chip-a", "one"), File("chip-b", "two")}));
  overlay.Reset({{Stored(Named("one", {"TWO", "chip-b"}), 1), Stored(Named("zero", {"two", "three"}), 2)}, 2});
  auto snapshot = overlay.MakeSnapshot();
  EXPECT_EQ(IdOf(*snapshot, "one"), "one");
  EXPECT_EQ(IdOf(*snapshot, "two"), "one");
  EXPECT_EQ(IdOf(*snapshot, "three"), "zero");
  EXPECT_EQ(IdOf(*snapshot, "chip-b"), "chip-b");
  EXPECT_FALSE(snapshot->LookUpHardware("one")->entry.shadows_bundled());
  overlay.Apply({{{EntryKind::kHardware, "one", std::nullopt, "", 3, {}, ""}}, 3}, 2);
  snapshot = overlay.MakeSnapshot();
  EXPECT_EQ(IdOf(*snapshot, "one"), "chip-a");
  EXPECT_EQ(IdOf(*snapshot, "two"), "zero");
}

TEST(AliasesTest, ABundledAliasOutlivesTheFiguresThatARegistrationReplaces) {
  Overlay overlay(*ParseBundle({File("chip-a", "one")}));
  overlay.Reset({{Stored(Named("chip-a", {}), 1)}, 1});
  const HardwareRecord* const record = overlay.MakeSnapshot()->LookUpHardware("One");
  ASSERT_NE(record, nullptr);
  EXPECT_EQ(record->entry.origin(), v1::ENTRY_ORIGIN_REGISTERED);
  EXPECT_EQ(record->hardware.memory_bandwidth->value(), 2e12);
}

TEST_F(CatalogTest, ANameOfAnotherEntryIsRefusedWithBothNames) {
  const auto catalog = Open();
  ASSERT_TRUE(catalog->PutHardware(Named("chip-b", {"Bee"}), {}).ok());
  struct Case {
    const char* name;
    v1::HardwareSpec spec;
    std::string field, message;
  };
  const Case cases[] = {
      {"an alias of another", Named("chip-c", {"sea", "BEE"}), "spec.aliases[1]",
       "aliases[1] \"BEE\" of \"chip-c\" is a name of \"chip-b\"; allowed: one that no other entry has"},
      {"the id of a bundled one", Named("chip-c", {"Chip-A"}), "spec.aliases[0]",
       "aliases[0] \"Chip-A\" of \"chip-c\" is a name of \"chip-a\"; allowed: one that no other entry has"},
      {"an id that is an alias", Named("bee", {}), "spec.id",
       "id \"bee\" is a name of \"chip-b\"; allowed: one that no other entry has"},
  };
  for (const Case& c : cases) {
    for (const bool dry_run : {true, false}) {
      const absl::Status status = catalog->PutHardware(c.spec, {.validate_only = dry_run}).status();
      EXPECT_EQ(DetailOf(status).reason, Reason::kInvalidField) << c.name;
      ASSERT_EQ(DetailOf(status).violations.size(), 1u) << c.name << status;
      EXPECT_EQ(DetailOf(status).violations[0].field, c.field) << c.name;
      EXPECT_EQ(DetailOf(status).violations[0].description, c.message) << c.name;
    }
  }
  EXPECT_TRUE(catalog->PutHardware(Named("chip-b", {"BEE", "bumble"}), {.etag = "*"}).ok());
}

TEST_F(CatalogTest, AnAliasIsWrittenReadAndDeletedByAsItsIdIs) {
  const auto catalog = Open();
  ASSERT_TRUE(catalog->PutHardware(Named("chip-b", {"Bee"}), {}).ok());
  v1::HardwareSpec faster = Named("chip-b", {"Bee"});
  faster.set_memory_bandwidth_bytes_per_second(9e12);
  ASSERT_TRUE(catalog->PutHardware(faster, {.etag = "*"}).ok());
  EXPECT_EQ(catalog->HardwareAt("bee", 1)->spec().memory_bandwidth_bytes_per_second(), 2e12);
  EXPECT_EQ(catalog->History(EntryKind::kHardware, "BEE")->size(), 2u);
  EXPECT_EQ((*catalog->RollbackHardware("bee", 1, {}))->spec().id(), "chip-b");
  EXPECT_EQ(Bandwidth(*catalog, "Bee"), 2e12);
  EXPECT_TRUE(catalog->DeleteHardware("bee", {}).ok());
  EXPECT_EQ(Bandwidth(*catalog, "chip-b"), 0);
  EXPECT_EQ(DetailOf(catalog->DeleteHardware("bee", {})).reason, Reason::kUnknownId);
}

TEST_F(CatalogTest, ARollbackTakesNoNameThatAnotherEntryHasByNow) {
  const auto catalog = Open();
  ASSERT_TRUE(catalog->PutHardware(Named("chip-b", {"Bee"}), {}).ok());        // revision 1
  ASSERT_TRUE(catalog->PutHardware(Named("chip-b", {}), {.etag = "*"}).ok());  // revision 2
  ASSERT_TRUE(catalog->PutHardware(Named("chip-c", {"bee"}), {}).ok());        // revision 3
  const absl::Status status = catalog->RollbackHardware("chip-b", 1, {}).status();
  ASSERT_EQ(DetailOf(status).violations.size(), 1u) << status;
  EXPECT_EQ(DetailOf(status).violations[0].field, "store_revision");
  EXPECT_THAT(std::string(status.message()), HasSubstr("\"Bee\" of \"chip-b\" is a name of \"chip-c\""));
}

// An entry without aliases is stored as it was before there were any, so its etag is the same.
TEST(AliasesTest, AnEntryWithoutAnyIsStoredAsBefore) {
  EXPECT_EQ(Hardware("chip-a", 1e12).SerializeAsString(), std::string("\x0a\x06"
                                                                      "chip-a\x41\x00\x00\x00\xa2\x94\x1a\x6d\x42",
                                                                      17));
}

TEST(BundledAliasesTest, EachNamesItsEntry) {
  const auto snapshot = Overlay(*LoadEmbeddedBundle()).MakeSnapshot();
  int aliases = 0;
  for (const auto& record : snapshot->hardware()) {
    for (const std::string& alias : record->entry.spec().aliases()) {
      ++aliases;
      EXPECT_EQ(snapshot->LookUpHardware(alias), record.get()) << alias;
      EXPECT_EQ(snapshot->LookUpHardware(absl::AsciiStrToUpper(alias)), record.get()) << alias;
    }
  }
  EXPECT_GE(aliases, 300);
  aliases = 0;
  for (const auto& record : snapshot->models()) {
    for (const std::string& alias : record->entry.spec().aliases()) {
      ++aliases;
      EXPECT_EQ(snapshot->LookUpModel(alias), record.get()) << alias;
    }
  }
  EXPECT_GE(aliases, 350);
}

// Of a name that could mean several entries the closest ids are told.
TEST(BundledAliasesTest, AnAmbiguousNameIsOfNoEntry) {
  const auto snapshot = Overlay(*LoadEmbeddedBundle()).MakeSnapshot();
  for (const char* name : {"h100", "a100", "v100", "h200", "gaudi3"}) {
    const absl::Status status = snapshot->FindHardware(name, "").status();
    EXPECT_THAT(std::string(status.message()), HasSubstr(absl::StrCat("-", name, "-"))) << name;
  }
}

TEST(BundledAliasesTest, NamesThatPeopleUse) {
  const auto snapshot = Overlay(*LoadEmbeddedBundle()).MakeSnapshot();
  for (const auto& [name, id] : {std::pair("NVIDIA H100 80GB HBM3", "nvidia-h100-sxm-80gb"),
                                 {"NVIDIA-H100-80GB-HBM3", "nvidia-h100-sxm-80gb"},
                                 {"NVIDIA-A100-SXM4-80GB", "nvidia-a100-sxm-80gb"},
                                 {"NVIDIA-A100-PCIE-40GB", "nvidia-a100-pcie-40gb"},
                                 {"h100_sxm", "nvidia-h100-sxm-80gb"},
                                 {"b200_sxm", "nvidia-b200-sxm-180gb"},
                                 {"gb200", "nvidia-gb200-186gb"},
                                 {"mi300x", "amd-mi300x-192gb"}}) {
    EXPECT_EQ(IdOf(*snapshot, name), id) << name;
  }
  for (const auto& [name, id] : {std::pair("meta-llama/Llama-3.1-8B-Instruct", "llama-3.1-8b"),
                                 {"meta-llama/Meta-Llama-3.1-70B-Instruct", "llama-3.1-70b"},
                                 {"Qwen/Qwen3-32B", "qwen3-32b"},
                                 {"openai/gpt-oss-120b", "gpt-oss-120b"},
                                 {"deepseek-ai/DeepSeek-R1-0528", "deepseek-r1"}}) {
    const ModelRecord* const record = snapshot->LookUpModel(name);
    ASSERT_NE(record, nullptr) << name;
    EXPECT_EQ(record->entry.spec().id(), id) << name;
  }
}

}  // namespace
}  // namespace foretoken::catalog
