// Sweeps read by the client library, and the constant columnar stream that they are compared with.
#ifndef FORETOKEN_TESTS_BENCH_LOAD_SWEEP_LOAD_H_
#define FORETOKEN_TESTS_BENCH_LOAD_SWEEP_LOAD_H_

#include <cstdint>
#include <string>

#include "foretoken/v1/estimator_service.pb.h"
#include "tests/bench/load/server_process.h"

namespace foretoken::bench {

struct StreamResult {
  int64_t points = 0;
  int64_t refused_points = 0;
  int errors = 0;  // streams that did not end well
  double seconds = 0;
  double first_point_seconds = 0;  // from a call to its first chunk, the median of the calls
  ProcessUse server;
  double resident_growth_bytes = 0;  // the most that the server held over what it held before
};

// `parallel` sweeps at once, each read to its end, again and again for at least `seconds`.
StreamResult RunSweeps(const std::string& address, const v1::SweepRequest& request, int parallel, double seconds,
                       int server_pid);

// One constant stream of as many points, chunk by chunk as the sweep's.
StreamResult RunColumns(const std::string& address, const v1::SweepRequest& request, int64_t points, int server_pid);

// A reader that takes the first chunk, then nothing for `seconds`, then leaves.
StreamResult RunSlowReader(const std::string& address, const v1::SweepRequest& request, double seconds, int server_pid);

}  // namespace foretoken::bench

#endif  // FORETOKEN_TESTS_BENCH_LOAD_SWEEP_LOAD_H_
