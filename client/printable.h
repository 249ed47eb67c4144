// Text from a server or a file, made safe to show on a terminal.
#ifndef FORETOKEN_CLIENT_PRINTABLE_H_
#define FORETOKEN_CLIENT_PRINTABLE_H_

#include <string>
#include <string_view>

namespace foretoken::client {

// `text` without characters that could move the cursor, set the title, change colours or reorder what is read. In
// their place stands their code: an escape character becomes the four characters "\x1b". Newline and tab stay. Which
// characters are replaced: text/printable.h.
std::string Printable(std::string_view text);

// `text` likewise as one line, cut after `most` bytes: a message of a stranger within a message of ours, which must
// neither look like several nor fill the screen.
std::string PrintableLine(std::string_view text, size_t most = 300);

}  // namespace foretoken::client

#endif  // FORETOKEN_CLIENT_PRINTABLE_H_
