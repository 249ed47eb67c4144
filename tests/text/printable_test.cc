#include "text/printable.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace foretoken {
namespace {

TEST(PrintableTest, EachStyle) {
  struct Case {
    const char* name;
    std::string text, lines, quoted, json;
  };
  const Case cases[] = {
      {"plain", "a b: 'c'", "a b: 'c'", "a b: 'c'", "a b: 'c'"},
      {"letters beyond ASCII", "é €😀", "é €😀", "é €😀", "é €😀"},
      {"newline", "a\nb", "a\nb", "a\\nb", "a\\nb"},
      {"carriage return", "a\rb", "a\\x0db", "a\\rb", "a\\rb"},
      {"tab", "a\tb", "a\tb", "a\\tb", "a\\tb"},
      {"quote and backslash", "\"\\", "\"\\", "\\\"\\\\", "\\\"\\\\"},
      {"escape", "\033[31m", "\\x1b[31m", "\\x1b[31m", "\\u001b[31m"},
      {"null", std::string("a\0b", 3), "a\\x00b", "a\\x00b", "a\\u0000b"},
      {"delete", "\x7f", "\\x7f", "\\x7f", "\\u007f"},
      {"control of Latin-1", "\xc2\x9b", "\\u009b", "\\u009b", "\\u009b"},
      {"bidirectional override", "\u202egnp", "\\u202egnp", "\\u202egnp", "\\u202egnp"},
      {"bidirectional isolate", "\u2066a\u2069", "\\u2066a\\u2069", "\\u2066a\\u2069", "\\u2066a\\u2069"},
      {"line separator", "a\u2028b", "a\\u2028b", "a\\u2028b", "a\\u2028b"},
      {"byte order mark", "\ufeffa", "\\ufeffa", "\\ufeffa", "\\ufeffa"},
      {"tag", "\U000e0041", "\\U000e0041", "\\U000e0041", "\\udb40\\udc41"},
      {"a lone byte", "a\xff", "a\\xff", "a\\xff", "a\\\\xff"},
      {"a cut character", "\xe2\x82", "\\xe2\\x82", "\\xe2\\x82", "\\\\xe2\\\\x82"},
      {"overlong newline", "\xc0\x8a", "\\xc0\\x8a", "\\xc0\\x8a", "\\\\xc0\\\\x8a"},
      {"surrogate", "\xed\xa0\x80", "\\xed\\xa0\\x80", "\\xed\\xa0\\x80", "\\\\xed\\\\xa0\\\\x80"},
      {"beyond Unicode", "\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80", "\\xf4\\x90\\x80\\x80",
       "\\\\xf4\\\\x90\\\\x80\\\\x80"},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(Printable(c.text, Escape::kLines), c.lines) << c.name;
    EXPECT_EQ(Printable(c.text, Escape::kQuoted), c.quoted) << c.name;
    EXPECT_EQ(Printable(c.text, Escape::kJson), c.json) << c.name;
  }
}

// Labels of metrics: two series of one label would end the scrape.
TEST(PrintableTest, NoTwoTextsLookAlikeInQuotes) {
  std::set<std::string> seen;
  int texts = 0;
  for (int byte = 0; byte < 256; ++byte) {
    for (const char* after : {"", "\x9b", "x9b", "\\x9b"}) {
      seen.insert(Printable(std::string(1, static_cast<char>(byte)) + after, Escape::kQuoted));
      ++texts;
    }
  }
  EXPECT_EQ(seen.size(), static_cast<size_t>(texts));
}

}  // namespace
}  // namespace foretoken
