// Unary calls over any number of connections from one thread.
//
// Closed loop: a fixed number of calls is in flight, and the next begins when one ends. It tells the highest rate.
// Open loop: calls begin at their own times whatever the server does (independent arrivals). A latency counts from the
// time at which the call was due. So a stalled server cannot hide the calls that it kept from being sent.
#ifndef FORETOKEN_TESTS_BENCH_LOAD_UNARY_LOAD_H_
#define FORETOKEN_TESTS_BENCH_LOAD_UNARY_LOAD_H_

#include <cstdint>
#include <string>

#include "tests/bench/load/histogram.h"
#include "tests/bench/load/http2_connection.h"
#include "tests/bench/load/server_process.h"

namespace foretoken::bench {

struct UnaryOptions {
  std::string host;
  int port = 0;
  int connections = 1;
  int in_flight = 64;            // closed loop, over all connections
  double calls_per_second = 0;   // above 0: open loop
  bool hold_back = false;        // open loop: a call that is due while the server allows no stream is not begun
  double seconds = 3;            // measured
  double warm_up_seconds = 0.5;  // before
  int server_pid = 0;
};

struct UnaryResult {
  uint64_t calls = 0;  // that ended well in the measured time
  uint64_t errors = 0;
  uint64_t held_back = 0;   // were due in the measured time and not begun
  uint64_t unanswered = 0;  // that had begun when the measured time ended; their latencies are not counted
  std::string first_error;  // what the first error was answered, if anything
  double seconds = 0;
  uint64_t received_bytes = 0;
  Histogram latency;
  ProcessUse server;  // of the measured time; memory as it ended
};

// Ends the process with a message where a connection cannot be made.
UnaryResult RunUnary(const UnaryOptions& options, const UnaryCall& call);

}  // namespace foretoken::bench

#endif  // FORETOKEN_TESTS_BENCH_LOAD_UNARY_LOAD_H_
