#include "client/cli/csv.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

namespace foretoken::cli {
namespace {

using testing::ElementsAre;

TEST(CsvReaderTest, CellsAndLines) {
  std::istringstream in(
      "\xEF\xBB\xBF"
      "a,b\r\n\n1,\"x, \"\"y\"\"\"\n2,\"two\nlines\"\n3,\n");
  CsvReader reader(in);
  struct Case {
    int line;
    std::vector<std::string> cells;
  };
  for (const Case& c :
       {Case{1, {"a", "b"}}, Case{3, {"1", "x, \"y\""}}, Case{4, {"2", "two\nlines"}}, Case{6, {"3", ""}}}) {
    const auto record = reader.Next();
    ASSERT_TRUE(record.has_value());
    EXPECT_EQ(record->line, c.line);
    EXPECT_EQ(record->cells, c.cells);
  }
  EXPECT_FALSE(reader.Next().has_value());
}

TEST(CsvReaderTest, AnOpenQuoteEndsWithTheInput) {
  std::istringstream in("a,\"b\nc");
  EXPECT_THAT(CsvReader(in).Next()->cells, ElementsAre("a", "b\nc"));
}

TEST(CsvLineTest, WhatIsWrittenReadsBack) {
  const std::vector<std::string> cells = {"plain", "with, comma", "with \"quote\"", "two\nlines", ""};
  std::istringstream in(CsvLine(cells));
  EXPECT_EQ(CsvReader(in).Next()->cells, cells);
}

}  // namespace
}  // namespace foretoken::cli
