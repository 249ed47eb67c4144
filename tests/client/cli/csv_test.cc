#include "client/cli/text/csv.h"

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
  const CsvRecord record = CsvReader(in).Next().value();
  EXPECT_THAT(record.cells, ElementsAre("a", "b\nc"));
  EXPECT_EQ(record.open_quote_line, 1);
  EXPECT_FALSE(CheckQuotes(record).ok());
}

TEST(CsvReaderTest, TheLineOfTheQuoteThatStaysOpenIsTold) {
  std::istringstream in("a,\"b\nc\",d,\"e\nf\n");
  const CsvRecord record = CsvReader(in).Next().value();
  EXPECT_EQ(record.line, 1);
  EXPECT_EQ(CheckQuotes(record).message(), "the quote that opens in line 2 is never closed");
  std::istringstream closed("a,\"b\nc\"\n");
  EXPECT_TRUE(CheckQuotes(CsvReader(closed).Next().value()).ok());
}

TEST(CsvReaderTest, AnOpenQuoteOfManyLinesTakesNoLonger) {
  // Splitting the record anew with each line took minutes.
  std::string text = "\"";
  for (int i = 0; i < 300'000; ++i) text += "1,2,3,4,5\n";
  std::istringstream in(text);
  EXPECT_EQ(CsvReader(in).Next()->cells.at(0).size(), text.size() - 2);  // without the quote and the last line break
}

TEST(CsvLineTest, WhatIsWrittenReadsBack) {
  const std::vector<std::string> cells = {"plain", "with, comma", "with \"quote\"", "two\nlines", ""};
  std::istringstream in(CsvLine(cells));
  EXPECT_EQ(CsvReader(in).Next()->cells, cells);
}

}  // namespace
}  // namespace foretoken::cli
