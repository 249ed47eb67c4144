// Turns Ctrl-C into a function call on another thread, so that a blocked stream can be cancelled.
#ifndef FORETOKEN_CLIENT_CLI_TERMINAL_INTERRUPT_H_
#define FORETOKEN_CLIENT_CLI_TERMINAL_INTERRUPT_H_

#include <signal.h>

#include <functional>
#include <thread>

namespace foretoken::cli {

// While an InterruptScope exists, the first SIGINT or SIGTERM calls `on_interrupt` once, on a separate thread. The
// second signal ends the process as usual. Only one InterruptScope may exist at a time.
class InterruptScope {
 public:
  explicit InterruptScope(std::function<void()> on_interrupt);
  ~InterruptScope();
  InterruptScope(const InterruptScope&) = delete;
  InterruptScope& operator=(const InterruptScope&) = delete;

 private:
  int pipe_[2] = {-1, -1};  // a signal handler may only write: one byte wakes the thread
  struct sigaction old_int_ = {};
  struct sigaction old_term_ = {};
  std::thread waiter_;
};

}  // namespace foretoken::cli

#endif  // FORETOKEN_CLIENT_CLI_TERMINAL_INTERRUPT_H_
