// Registrations at a fixed pace, one after the other.
#ifndef FORETOKEN_TESTS_BENCH_LOAD_REGISTER_LOAD_H_
#define FORETOKEN_TESTS_BENCH_LOAD_REGISTER_LOAD_H_

#include <string>

namespace foretoken::bench {

struct RegisterResult {
  int written = 0;
  int errors = 0;
  double seconds = 0;
};

// Registers a bundled model again and again, under a few ids in turn, so that the catalog does not grow without end.
RegisterResult RunRegistrations(const std::string& address, double writes_per_second, double seconds);

}  // namespace foretoken::bench

#endif  // FORETOKEN_TESTS_BENCH_LOAD_REGISTER_LOAD_H_
