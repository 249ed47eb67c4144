#include "server/ops/worker_pool.h"

#include <unistd.h>

#include <utility>

namespace foretoken::ops {

WorkerPool::WorkerPool(int threads, int niceness) {
  for (int i = 0; i < threads; ++i) threads_.emplace_back([this, niceness] { Work(niceness); });
}

WorkerPool::~WorkerPool() {
  {
    absl::MutexLock lock(&mutex_);
    ending_ = true;
  }
  for (std::thread& thread : threads_) thread.join();
}

void WorkerPool::Run(std::function<void()> task) {
  absl::MutexLock lock(&mutex_);
  tasks_.push_back(std::move(task));
}

void WorkerPool::Work(int niceness) {
  // On Linux niceness belongs to the thread. A refusal costs fairness only.
  if (niceness > 0 && nice(niceness) == -1) niceness = 0;
  while (true) {
    std::function<void()> task;
    {
      absl::MutexLock lock(&mutex_, absl::Condition(this, &WorkerPool::WorkOrEnd));
      if (tasks_.empty()) return;
      task = std::move(tasks_.front());
      tasks_.pop_front();
    }
    task();
  }
}

}  // namespace foretoken::ops
