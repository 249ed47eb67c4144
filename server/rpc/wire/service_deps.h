// What both services are built from. Everything outlives the services, and the schedulers outlive the server's last
// call.
#ifndef FORETOKEN_SERVER_RPC_WIRE_SERVICE_DEPS_H_
#define FORETOKEN_SERVER_RPC_WIRE_SERVICE_DEPS_H_

#include <cstdint>

#include "absl/time/time.h"
#include "server/catalog/catalog.h"
#include "server/ops/metrics.h"
#include "server/ops/write_tokens.h"
#include "server/rpc/wire/caller_names.h"
#include "server/work/fair_scheduler.h"

namespace foretoken::rpc {

struct ServiceDeps {
  catalog::Catalog* catalog = nullptr;
  catalog::Catalog::Clock clock;
  ops::Metrics* metrics = nullptr;
  work::FairScheduler* work = nullptr;             // calls that compute for long
  work::FairScheduler* writes = nullptr;           // calls that wait for the store
  const CallerNames* caller_names = nullptr;       // null: by address
  const ops::WriteTokens* write_tokens = nullptr;  // null: anyone may write
  bool require_token_to_read = false;              // REQUIRES write_tokens
  int64_t max_sweep_points = 10'000'000;
  absl::Duration max_cpu_per_call = absl::Seconds(200);  // of a sweep, a batch or a search
};

}  // namespace foretoken::rpc

#endif  // FORETOKEN_SERVER_RPC_WIRE_SERVICE_DEPS_H_
