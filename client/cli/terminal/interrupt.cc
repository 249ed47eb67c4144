#include "client/cli/terminal/interrupt.h"

#include <unistd.h>

#include <utility>

namespace foretoken::cli {
namespace {

constexpr char kInterrupt = 'i';
constexpr char kQuit = 'q';

volatile sig_atomic_t write_end = -1;

void WriteByte(int fd, char byte) {
  // A full or closed pipe does no harm, because only the first byte counts.
  [[maybe_unused]] const ssize_t written = write(fd, &byte, 1);
}

void OnSignal(int) {
  if (write_end >= 0) WriteByte(write_end, kInterrupt);
}

}  // namespace

InterruptScope::InterruptScope(std::function<void()> on_interrupt) {
  if (pipe(pipe_) != 0) return;
  write_end = pipe_[1];
  waiter_ = std::thread([fd = pipe_[0], on_interrupt = std::move(on_interrupt)] {
    char byte = kQuit;
    if (read(fd, &byte, 1) == 1 && byte == kInterrupt) on_interrupt();
  });
  struct sigaction action = {};
  action.sa_handler = OnSignal;
  action.sa_flags = SA_RESTART | SA_RESETHAND;
  sigaction(SIGINT, &action, &old_int_);
  sigaction(SIGTERM, &action, &old_term_);
}

InterruptScope::~InterruptScope() {
  if (!waiter_.joinable()) return;
  sigaction(SIGINT, &old_int_, nullptr);
  sigaction(SIGTERM, &old_term_, nullptr);
  WriteByte(pipe_[1], kQuit);
  waiter_.join();
  write_end = -1;
  close(pipe_[0]);
  close(pipe_[1]);
}

}  // namespace foretoken::cli
