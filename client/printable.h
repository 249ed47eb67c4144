// Text from a server or a file, made safe to show on a terminal.
#ifndef FORETOKEN_CLIENT_PRINTABLE_H_
#define FORETOKEN_CLIENT_PRINTABLE_H_

#include <string>
#include <string_view>

namespace foretoken::client {

// Replaces every control character except newline and tab by its hexadecimal code, so that a text cannot move the
// cursor, set the title or change colours: an escape character becomes the four characters "\x1b".
std::string Printable(std::string_view text);

}  // namespace foretoken::client

#endif  // FORETOKEN_CLIENT_PRINTABLE_H_
