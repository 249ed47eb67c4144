#include "client/printable.h"

#include "text/printable.h"

namespace foretoken::client {

std::string Printable(std::string_view text) { return foretoken::Printable(text, Escape::kLines); }

}  // namespace foretoken::client
