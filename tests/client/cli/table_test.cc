#include "client/cli/text/table.h"

#include <gtest/gtest.h>

namespace foretoken::cli {
namespace {

TEST(TableTest, AlignsAndLeavesNoTrailingSpace) {
  Table table({{"hardware"}, {"E2E", Align::kRight}, {"note"}});
  table.AddRow({"a", "3.21 s", "first"});
  table.AddRow({"longer-name", "12 ms", ""});
  EXPECT_EQ(table.Render({}, 2),
            "  hardware        E2E  note\n"
            "  a            3.21 s  first\n"
            "  longer-name   12 ms\n");
}

TEST(TableTest, NoHeaderWithoutNames) {
  Table table({{""}, {"", Align::kRight}});
  table.AddRow({"x", "1"});
  EXPECT_EQ(table.Render({}), "x  1\n");
}

TEST(TableTest, AnEmptyCellKeepsTheColumnsAfterIt) {
  Table table({{"a"}, {"b", Align::kRight}, {"c"}});
  table.AddRow({"1", "22", "x"});
  table.AddRow({"1", "", "y"});
  EXPECT_EQ(table.Render({}),
            "a   b  c\n"
            "1  22  x\n"
            "1      y\n");
}

TEST(TableTest, WidthCountsCharactersNotBytes) {
  EXPECT_EQ(DisplayWidth("█▌"), 2u);
  Table table({{"bar"}, {"n"}});
  table.AddRow({"█▌", "1"});
  EXPECT_EQ(table.Render({}), "bar  n\n█▌   1\n");
}

TEST(TableTest, ColourDoesNotChangeTheAlignment) {
  Table table({{"a"}, {"b"}});
  table.AddRow({Cell("x", Look::kBad), "1"});
  EXPECT_EQ(table.Render({.color = true}),
            "\033[2ma\033[0m  \033[2mb\033[0m\n"
            "\033[31mx\033[0m  1\n");
}

TEST(TableTest, ControlCharactersBecomeTheirCodes) {
  EXPECT_EQ(Cell(std::string("a\x1b[2J\r\x7f\xc2\x9b") + "1m").text, "a\\x1b[2J\\x0d\\x7f\\u009b1m");
  EXPECT_EQ(Terminal{.color = true}.Paint("\x1b[2J", Look::kBold), "\033[1m\\x1b[2J\033[0m");
  EXPECT_EQ(Cell(std::string("\xc2\xb5s \xe2\x96\x88")).text, "\xc2\xb5s \xe2\x96\x88");  // letters stay
}

}  // namespace
}  // namespace foretoken::cli
