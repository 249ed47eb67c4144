// A progress bar on one line of the terminal. Without a terminal, and during the first half second, nothing is drawn,
// so that quick work leaves no trace.
#ifndef FORETOKEN_CLIENT_CLI_TERMINAL_PROGRESS_H_
#define FORETOKEN_CLIENT_CLI_TERMINAL_PROGRESS_H_

#include <ostream>
#include <string>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "client/cli/terminal/terminal.h"

namespace foretoken::cli {

// "[########            ]  40%  1,234,567 of 3,000,000 points"
std::string ProgressLine(double share, const std::string& what, bool utf8);

class Progress {
 public:
  Progress(std::ostream& err, const Terminal& terminal) : err_(err), terminal_(terminal) {}
  ~Progress() { Clear(); }

  // Draws at most ten times a second.
  void Update(double share, const std::string& what);
  // Removes the bar.
  void Clear();

 private:
  std::ostream& err_;
  const Terminal terminal_;
  const absl::Time start_ = absl::Now();
  absl::Time drawn_ = absl::InfinitePast();
};

}  // namespace foretoken::cli

#endif  // FORETOKEN_CLIENT_CLI_TERMINAL_PROGRESS_H_
