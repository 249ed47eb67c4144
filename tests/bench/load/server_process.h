// What the system says of the server under load, from /proc.
#ifndef FORETOKEN_TESTS_BENCH_LOAD_SERVER_PROCESS_H_
#define FORETOKEN_TESTS_BENCH_LOAD_SERVER_PROCESS_H_

namespace foretoken::bench {

struct ProcessUse {
  double user_seconds = 0;
  double system_seconds = 0;
  double resident_bytes = 0;
};

// All zero where `pid` is 0 or gone.
ProcessUse ReadProcess(int pid);

}  // namespace foretoken::bench

#endif  // FORETOKEN_TESTS_BENCH_LOAD_SERVER_PROCESS_H_
