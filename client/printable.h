// Text of a server or a file, made safe to show on a terminal.
#ifndef FORETOKEN_CLIENT_PRINTABLE_H_
#define FORETOKEN_CLIENT_PRINTABLE_H_

#include <string>
#include <string_view>

namespace foretoken::client {

// Every control character but newline and tab as its hexadecimal code, so that a text cannot move the cursor, set a
// title or colour what follows: "\x1b[2J" with a real escape in front becomes those very letters.
std::string Printable(std::string_view text);

}  // namespace foretoken::client

#endif  // FORETOKEN_CLIENT_PRINTABLE_H_
