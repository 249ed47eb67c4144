// What gRPC and Protobuf have to say, such as of a header that is no header or a text that is not UTF-8, in the form of
// every other line of the log. The libraries themselves would write a caller's bytes to stderr as they came.
#ifndef FORETOKEN_SERVER_OPS_PROCESS_LIBRARY_LOG_H_
#define FORETOKEN_SERVER_OPS_PROCESS_LIBRARY_LOG_H_

#include <cstdint>

#include "absl/time/time.h"

namespace foretoken::ops {

// Lines of libraries in one second. Callers cause such lines, so more would let a flood of bad connections fill a disk.
inline constexpr int kMostLibraryLines = 20;

// Lets `most` lines a second through and counts the others. Not thread-safe.
class LineLimit {
 public:
  explicit LineLimit(int most) : most_(most) {}

  // Whether a line of this moment may be written. `*left_out`: lines that were not, since the last one that was.
  bool Take(absl::Time now, int64_t* left_out);

 private:
  const int most_;
  absl::Time second_ = absl::InfinitePast();  // begin of the second that lines are counted in
  int taken_ = 0;
  int64_t left_out_ = 0;
};

// From now on. REQUIRES: called once, before other threads start.
void LogOfLibraries();

}  // namespace foretoken::ops

#endif  // FORETOKEN_SERVER_OPS_PROCESS_LIBRARY_LOG_H_
