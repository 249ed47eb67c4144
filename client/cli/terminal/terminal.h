// What the terminal can show, decided once at start.
#ifndef FORETOKEN_CLIENT_CLI_TERMINAL_TERMINAL_H_
#define FORETOKEN_CLIENT_CLI_TERMINAL_TERMINAL_H_

#include <functional>
#include <string>
#include <string_view>

namespace foretoken::cli {

// Reads an environment variable; null when it is not set.
using GetEnv = std::function<const char*(const char*)>;

enum class ColorMode { kAuto, kNever, kAlways };

// A look of text.
enum class Look { kPlain, kBold, kDim, kGood, kBad, kWarn, kCompute, kMemory, kCommunication, kHost, kQueueing };

struct Terminal {
  bool color = false;        // escape codes are welcome
  bool utf8 = false;         // block characters are welcome
  bool interactive = false;  // stderr is a terminal: a progress bar may be drawn

  // `text`, made printable, in a look; without colour the text alone.
  std::string Paint(std::string_view text, Look look) const;
};

// Colour: as told; on auto only on a terminal, and never when NO_COLOR is set to something or TERM is "dumb".
// UTF-8: when LC_ALL, LC_CTYPE or LANG, the first that is set, names it.
Terminal DescribeTerminal(ColorMode mode, bool out_is_terminal, bool err_is_terminal, const GetEnv& getenv);

}  // namespace foretoken::cli

#endif  // FORETOKEN_CLIENT_CLI_TERMINAL_TERMINAL_H_
