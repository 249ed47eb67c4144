#include "text/printable.h"

#include <cstdint>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace foretoken {
namespace {

struct Character {
  uint32_t code = 0;
  size_t bytes = 0;  // 0: no UTF-8 begins here
};

// The bytes of a character by its first byte; 0: none begins with it.
size_t LengthOf(unsigned char first) {
  if (first < 0x80) return 1;
  if (first >= 0xc2 && first < 0xe0) return 2;
  if (first >= 0xe0 && first < 0xf0) return 3;
  return first >= 0xf0 && first < 0xf5 ? 4 : 0;
}

// The character at the start of `text`, which is not empty. Overlong forms and surrogates are no UTF-8.
Character Decode(std::string_view text) {
  const size_t bytes = LengthOf(static_cast<unsigned char>(text[0]));
  if (bytes == 0 || bytes > text.size()) return {};
  if (bytes == 1) return {static_cast<unsigned char>(text[0]), 1};
  uint32_t code = static_cast<unsigned char>(text[0]) & (0xffu >> (bytes + 1));
  for (size_t i = 1; i < bytes; ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if ((byte & 0xc0) != 0x80) return {};
    code = code << 6 | (byte & 0x3f);
  }
  const bool overlong = (bytes == 3 && code < 0x800) || (bytes == 4 && code < 0x10000);
  const bool surrogate = code >= 0xd800 && code < 0xe000;
  return overlong || surrogate || code > 0x10ffff ? Character{} : Character{code, bytes};
}

struct Range {
  uint32_t first, last;
};

// Beyond ASCII.
constexpr Range kUnsafe[] = {
    {0x80, 0x9f},        // control characters
    {0x61c, 0x61c},      // bidirectional: Arabic letter mark
    {0x200b, 0x200b},    // invisible: zero width space
    {0x200e, 0x200f},    // bidirectional: marks
    {0x2028, 0x202e},    // line and paragraph separators; bidirectional: embeddings and overrides
    {0x2060, 0x2064},    // invisible: word joiner, operators
    {0x2066, 0x2069},    // bidirectional: isolates
    {0xfeff, 0xfeff},    // invisible: byte order mark
    {0xfff9, 0xfffb},    // annotations
    {0xe0000, 0xe007f},  // invisible: tags
};

bool IsUnsafe(uint32_t code) {
  if (code < 0x80) return code < 0x20 || code == 0x7f;
  for (const Range& range : kUnsafe) {
    if (code >= range.first && code <= range.last) return true;
  }
  return false;
}

// "" where the character has no short form in this style.
std::string_view ShortForm(uint32_t code, Escape escape) {
  if (escape == Escape::kLines) return code == '\n' ? "\n" : code == '\t' ? "\t" : "";
  switch (code) {
    case '\n':
      return "\\n";
    case '\r':
      return "\\r";
    case '\t':
      return "\\t";
    case '"':
      return "\\\"";
    case '\\':
      return "\\\\";
    default:
      return "";
  }
}

// The pair of UTF-16 code units that JSON writes a character beyond U+FFFF as.
std::string Pair(uint32_t code) {
  const uint32_t rest = code - 0x10000;
  return absl::StrFormat("\\u%04x\\u%04x", 0xd800 + (rest >> 10), 0xdc00 + (rest & 0x3ff));
}

std::string LongForm(uint32_t code, Escape escape) {
  if (code < 0x80 && escape != Escape::kJson) return absl::StrFormat("\\x%02x", code);
  if (code <= 0xffff) return absl::StrFormat("\\u%04x", code);
  return escape == Escape::kJson ? Pair(code) : absl::StrFormat("\\U%08x", code);
}

void AppendByte(unsigned char byte, Escape escape, std::string& out) {
  absl::StrAppendFormat(&out, "%s\\x%02x", escape == Escape::kJson ? "\\" : "", byte);
}

}  // namespace

std::string Printable(std::string_view text, Escape escape) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const Character next = Decode(text);
    const std::string_view short_form = next.bytes == 1 ? ShortForm(next.code, escape) : "";
    if (next.bytes == 0) {
      AppendByte(static_cast<unsigned char>(text[0]), escape, out);
    } else if (!short_form.empty()) {
      out += short_form;
    } else if (IsUnsafe(next.code)) {
      out += LongForm(next.code, escape);
    } else {
      out += text.substr(0, next.bytes);
    }
    text.remove_prefix(next.bytes == 0 ? 1 : next.bytes);
  }
  return out;
}

}  // namespace foretoken
