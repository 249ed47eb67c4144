// What the terminal can show, determined once at start.
#ifndef FORETOKEN_CLIENT_CLI_TERMINAL_TERMINAL_H_
#define FORETOKEN_CLIENT_CLI_TERMINAL_TERMINAL_H_

#include <functional>
#include <string>
#include <string_view>

namespace foretoken::cli {

// Reads an environment variable; null when it is not set.
using GetEnv = std::function<const char*(const char*)>;

enum class ColorMode { kAuto, kNever, kAlways };

// Style of a text.
enum class Look { kPlain, kBold, kDim, kGood, kBad, kWarn, kCompute, kMemory, kCommunication, kHost, kQueueing };

struct Terminal {
  bool color = false;        // escape codes may be used
  bool utf8 = false;         // block characters may be used
  bool interactive = false;  // stderr is a terminal: a progress bar may be drawn

  // `text`, made printable, in the style `look`; without colour the text alone.
  std::string Paint(std::string_view text, Look look) const;
};

// Colour: as requested; with auto only on a terminal, unless NO_COLOR is set and not empty or TERM is "dumb".
// UTF-8: if the first variable that is set of LC_ALL, LC_CTYPE and LANG names it.
Terminal DescribeTerminal(ColorMode mode, bool out_is_terminal, bool err_is_terminal, const GetEnv& getenv);

}  // namespace foretoken::cli

#endif  // FORETOKEN_CLIENT_CLI_TERMINAL_TERMINAL_H_
