#include "server/ops/descriptors.h"

#include <sys/resource.h>

#include <algorithm>

namespace foretoken::ops {

void RaiseDescriptorLimit() {
  rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

int DescriptorsForConnections() {
  constexpr rlim_t kReserved = 64;
  constexpr rlim_t kMost = 1 << 20;
  rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return kMost;
  return static_cast<int>(limit.rlim_cur > 2 * kReserved ? std::min(limit.rlim_cur - kReserved, kMost) : kReserved);
}

}  // namespace foretoken::ops
