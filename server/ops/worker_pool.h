// A few threads for work that must not hold up the threads that serve calls: sweeps, large batches, writes.
// Thread-safe. Tasks start in the order given.
#ifndef FORETOKEN_SERVER_OPS_WORKER_POOL_H_
#define FORETOKEN_SERVER_OPS_WORKER_POOL_H_

#include <deque>
#include <functional>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

namespace foretoken::ops {

class WorkerPool {
 public:
  // `niceness` is what the threads add to the process's own: above 0, calls go first on a busy machine.
  explicit WorkerPool(int threads, int niceness = 0);
  // Runs what was given, then ends the threads.
  ~WorkerPool();
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  void Run(std::function<void()> task);

 private:
  void Work(int niceness);
  bool WorkOrEnd() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return !tasks_.empty() || ending_; }

  absl::Mutex mutex_;
  std::deque<std::function<void()>> tasks_ ABSL_GUARDED_BY(mutex_);
  bool ending_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<std::thread> threads_;
};

}  // namespace foretoken::ops

#endif  // FORETOKEN_SERVER_OPS_WORKER_POOL_H_
