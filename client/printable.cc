#include "client/printable.h"

#include "absl/strings/str_format.h"

namespace foretoken::client {
namespace {

// The bytes of the control character that begins at `at`: 1 of ASCII, 2 of U+0080 to U+009F in UTF-8; 0: it is none.
size_t ControlBytes(std::string_view text, size_t at) {
  const auto byte = [text](size_t i) { return static_cast<unsigned char>(text[i]); };
  if (text[at] == '\n' || text[at] == '\t') return 0;
  if (byte(at) < 0x20 || byte(at) == 0x7f) return 1;
  const bool upper = byte(at) == 0xc2 && at + 1 < text.size() && byte(at + 1) >= 0x80 && byte(at + 1) < 0xa0;
  return upper ? 2 : 0;
}

}  // namespace

std::string Printable(std::string_view text) {
  std::string clean;
  for (size_t i = 0; i < text.size(); ++i) {
    const size_t bytes = ControlBytes(text, i);
    if (bytes == 0) {
      clean += text[i];
    } else {
      i += bytes - 1;  // the last byte is also the code of a character of two
      clean += absl::StrFormat("\\x%02x", static_cast<unsigned char>(text[i]));
    }
  }
  return clean;
}

}  // namespace foretoken::client
