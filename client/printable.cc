#include "client/printable.h"

#include <algorithm>

#include "text/printable.h"

namespace foretoken::client {

std::string Printable(std::string_view text) { return foretoken::Printable(text, Escape::kLines); }

std::string PrintableLine(std::string_view text, size_t most) {
  std::string line = Printable(text.substr(0, most));
  std::replace_if(
      line.begin(), line.end(), [](char c) { return c == '\n' || c == '\t'; }, ' ');
  return text.size() > most ? line + "..." : line;
}

}  // namespace foretoken::client
