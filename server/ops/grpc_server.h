// A gRPC server with what every deployment expects: health, reflection, limits, and an end that loses no call.
//
// Health (grpc.health.v1) starts as NOT_SERVING and follows SetServing, for the server as a whole ("") and for each
// service by name.
#ifndef FORETOKEN_SERVER_OPS_GRPC_SERVER_H_
#define FORETOKEN_SERVER_OPS_GRPC_SERVER_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/base/call_once.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "grpcpp/security/server_credentials.h"
#include "grpcpp/server.h"
#include "grpcpp/server_builder.h"
#include "server/guard/held_bytes.h"
#include "server/guard/listener.h"
#include "server/guard/memory_watch.h"

namespace foretoken::ops {

struct GrpcServerOptions {
  std::string listen = "127.0.0.1:50051";                // empty: in-process only; port 0 picks a free one
  std::shared_ptr<grpc::ServerCredentials> credentials;  // null: plain text
  int max_message_bytes = 4 << 20;                       // of a request
  int max_concurrent_streams = 1000;                     // per connection
  int64_t memory_limit = int64_t{1} << 30;               // of the whole process, bytes
  int max_connections = 4096;
  int max_connections_per_address = 1024;
};

// Thread-safe.
class GrpcServer {
 public:
  ~GrpcServer();  // drains at once
  // Starts serving `services`, which outlive the server.
  //
  // Errors: UNAVAILABLE: the address cannot be listened on.
  static absl::StatusOr<std::unique_ptr<GrpcServer>> Start(const GrpcServerOptions& options,
                                                           const std::vector<grpc::Service*>& services);

  void SetServing(bool serving);
  // Of one name alone, which health does not know before.
  void SetServing(const std::string& name, bool serving);

  // Reports NOT_SERVING, takes no new call, and returns when the running ones have ended or were cancelled at
  // `timeout`. Calls after the first do nothing.
  void Drain(absl::Duration timeout);

  // "127.0.0.1:50051", with the port that was picked.
  const std::string& address() const { return address_; }

  // How near the server is to its limits, and what was refused for them.
  struct Guards {
    int64_t memory_limit_bytes = 0;
    bool memory_short = false;
    int64_t held_bytes = 0;
    uint64_t held_refused = 0;
    uint64_t held_cancelled = 0;
    int connections = 0;
    guard::Listener::Refused refused_connections;
    uint64_t cut_connections = 0;
  };
  Guards guards() const;

  std::shared_ptr<grpc::Channel> InProcessChannel();

 private:
  GrpcServer(std::vector<std::string> names, int64_t memory_limit);

  // Binds the address, if there is one.
  absl::Status Listen(const GrpcServerOptions& options);
  // Accepts connections there, and watches memory.
  void Accept(const GrpcServerOptions& options);

  std::vector<std::string> names_;  // of the services, as health knows them
  std::string address_;
  guard::HeldBytes held_;
  std::unique_ptr<guard::Listener> listener_;  // null: in-process only
  std::unique_ptr<guard::MemoryWatch> watch_;
  std::unique_ptr<grpc::experimental::ExternalConnectionAcceptor> acceptor_;
  std::unique_ptr<grpc::Server> server_;
  absl::once_flag drained_;
};

}  // namespace foretoken::ops

#endif  // FORETOKEN_SERVER_OPS_GRPC_SERVER_H_
