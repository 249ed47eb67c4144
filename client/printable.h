// Text from a server or a file, made safe to show on a terminal.
#ifndef FORETOKEN_CLIENT_PRINTABLE_H_
#define FORETOKEN_CLIENT_PRINTABLE_H_

#include <string>
#include <string_view>

namespace foretoken::client {

// `text` with newline and tab as they are, and the code of whatever else may not be shown (text/printable.h), so that
// it cannot move the cursor, set the title, change colours or reorder what is read: an escape character becomes the
// four characters "\x1b".
std::string Printable(std::string_view text);

}  // namespace foretoken::client

#endif  // FORETOKEN_CLIENT_PRINTABLE_H_
