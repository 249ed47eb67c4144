#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <iostream>

#include "client/cli/app.h"
#include "google/protobuf/stubs/logging.h"

namespace {

// A standard stream that the caller closed has a number that is free, or that a library already took for a socket or an
// event (close-on-exec, which what a caller hands over never is): the answer must not go there. Such a stream is bad
// from the start, and a number that is still free is taken.
void MarkIfClosed(int fd, std::ios& stream) {
  const int flags = fcntl(fd, F_GETFD);
  if (flags != -1 && (flags & FD_CLOEXEC) == 0) return;
  if (flags == -1) open("/dev/null", O_RDWR);  // takes the lowest that is free
  stream.setstate(std::ios::badbit);
}

}  // namespace

int main(int argc, char** argv) {
  // A text goes out in one write, so that a reader which stops early (`| head`) has got all of it already.
  std::ios::sync_with_stdio(false);
  MarkIfClosed(STDIN_FILENO, std::cin);
  MarkIfClosed(STDOUT_FILENO, std::cout);
  MarkIfClosed(STDERR_FILENO, std::cerr);
  google::protobuf::SetLogHandler(nullptr);  // what it says of a text that is not UTF-8, the answer says better
  return foretoken::cli::RunForetoken({argv + 1, argv + argc}, std::cin, std::cout, std::cerr, std::getenv);
}
