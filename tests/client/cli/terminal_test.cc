#include "client/cli/terminal/terminal.h"

#include <gtest/gtest.h>

#include <map>

namespace foretoken::cli {
namespace {

using Environment = std::map<std::string, std::string>;

Terminal Describe(ColorMode mode, bool is_terminal, const Environment& environment) {
  return DescribeTerminal(mode, is_terminal, is_terminal, [&environment](const char* name) -> const char* {
    const auto value = environment.find(name);
    return value == environment.end() ? nullptr : value->second.c_str();
  });
}

TEST(TerminalTest, Colour) {
  struct Case {
    const char* name;
    ColorMode mode;
    bool is_terminal;
    Environment environment;
    bool want;
  };
  const Case cases[] = {
      {"a terminal", ColorMode::kAuto, true, {}, true},
      {"a pipe", ColorMode::kAuto, false, {}, false},
      {"NO_COLOR", ColorMode::kAuto, true, {{"NO_COLOR", "1"}}, false},
      {"an empty NO_COLOR says nothing", ColorMode::kAuto, true, {{"NO_COLOR", ""}}, true},
      {"a dumb terminal", ColorMode::kAuto, true, {{"TERM", "dumb"}}, false},
      {"always wins", ColorMode::kAlways, false, {{"NO_COLOR", "1"}}, true},
      {"never wins", ColorMode::kNever, true, {}, false},
  };
  for (const Case& c : cases) EXPECT_EQ(Describe(c.mode, c.is_terminal, c.environment).color, c.want) << c.name;
}

TEST(TerminalTest, Locale) {
  EXPECT_TRUE(Describe(ColorMode::kAuto, true, {{"LANG", "C.UTF-8"}}).utf8);
  EXPECT_TRUE(Describe(ColorMode::kAuto, true, {{"LC_CTYPE", "de_DE.utf8"}}).utf8);
  EXPECT_FALSE(Describe(ColorMode::kAuto, true, {{"LC_ALL", "C"}, {"LANG", "C.UTF-8"}}).utf8);
  EXPECT_FALSE(Describe(ColorMode::kAuto, true, {}).utf8);
}

}  // namespace
}  // namespace foretoken::cli
