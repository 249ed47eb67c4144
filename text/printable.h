// Texts from outside (requests, headers, certificates, files, arguments), written so that they can be shown or logged:
// the one place that decides which characters may stand as they are. The server's log, labels of metrics, the client
// library and the command line all use it.
//
// What may not stand as it is:
//   control characters          ESC moves the cursor, a newline begins a forged line of a log
//   marks that reorder text     a bidirectional override shows "gnp.exe" as "exe.png"
//   line separators of Unicode, invisible characters, bytes that are no UTF-8
#ifndef FORETOKEN_TEXT_PRINTABLE_H_
#define FORETOKEN_TEXT_PRINTABLE_H_

#include <string>
#include <string_view>

namespace foretoken {

enum class Escape {
  kLines,   // for a terminal: newline and tab stay as they are
  kQuoted,  // between double quotes, on one line: newline, quote and backslash are escaped too; no two texts look alike
  kJson,    // between the double quotes of a JSON string
};

// `text` with "\x1b" for the escape character, "\u202e" for a bidirectional override and "\xff" for a byte that is no
// UTF-8. In JSON the escape character is "\u001b", and a byte that is no UTF-8 is the four characters \xff.
std::string Printable(std::string_view text, Escape escape);

}  // namespace foretoken

#endif  // FORETOKEN_TEXT_PRINTABLE_H_
