// Ctrl-C as a call of a function on another thread, so that a blocked stream can be cancelled.
#ifndef FORETOKEN_CLIENT_CLI_TERMINAL_INTERRUPT_H_
#define FORETOKEN_CLIENT_CLI_TERMINAL_INTERRUPT_H_

#include <signal.h>

#include <functional>
#include <thread>

namespace foretoken::cli {

// While it lives, the first SIGINT or SIGTERM calls `on_interrupt` once, on a thread of its own; the second one kills,
// as without it. One at a time in a process.
class InterruptScope {
 public:
  explicit InterruptScope(std::function<void()> on_interrupt);
  ~InterruptScope();
  InterruptScope(const InterruptScope&) = delete;
  InterruptScope& operator=(const InterruptScope&) = delete;

 private:
  int pipe_[2] = {-1, -1};  // the handler may only write: a byte through here wakes the thread
  struct sigaction old_int_ = {};
  struct sigaction old_term_ = {};
  std::thread waiter_;
};

}  // namespace foretoken::cli

#endif  // FORETOKEN_CLIENT_CLI_TERMINAL_INTERRUPT_H_
