// What both services are built from. Everything outlives the services, and the pools outlive the server's last call.
#ifndef FORETOKEN_SERVER_RPC_WIRE_SERVICE_DEPS_H_
#define FORETOKEN_SERVER_RPC_WIRE_SERVICE_DEPS_H_

#include <cstdint>

#include "server/catalog/catalog.h"
#include "server/ops/metrics.h"
#include "server/ops/worker_pool.h"
#include "server/ops/write_tokens.h"

namespace foretoken::rpc {

struct ServiceDeps {
  catalog::Catalog* catalog = nullptr;
  catalog::Catalog::Clock clock;
  ops::Metrics* metrics = nullptr;
  ops::WorkerPool* large_calls = nullptr;  // unary calls that compute for long
  ops::WorkerPool* sweeps = nullptr;
  ops::WorkerPool* writes = nullptr;               // calls that wait for the store
  const ops::WriteTokens* write_tokens = nullptr;  // null: anyone may write
  bool require_token_to_read = false;              // REQUIRES write_tokens
  int64_t max_sweep_points = 10'000'000;
};

}  // namespace foretoken::rpc

#endif  // FORETOKEN_SERVER_RPC_WIRE_SERVICE_DEPS_H_
