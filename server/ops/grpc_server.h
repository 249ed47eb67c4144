// A gRPC server with what every deployment expects: health, reflection, limits, and an end that loses no call.
//
// Health (grpc.health.v1) starts as NOT_SERVING and follows SetServing, for the server as a whole ("") and for each
// service by name. Reflection describes it like every other service.
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
  // Addresses, separated by commas: "127.0.0.1:50051,unix:/run/foretokend.sock". Empty: in-process only. Port 0 picks a
  // free one.
  std::string listen = "127.0.0.1:50051";
  // Of all addresses but Unix sockets, which are in plain text: the permissions of their files say who may connect.
  // Null: plain text.
  std::shared_ptr<grpc::ServerCredentials> credentials;
  int max_message_bytes = 4 << 20;          // of a request
  int max_concurrent_streams = 1000;        // per connection
  int64_t memory_limit = int64_t{1} << 30;  // of the whole process, bytes
  int max_connections = 4096;
  int max_connections_per_address = 1024;
  absl::Duration keepalive_time = absl::Seconds(60);     // an idle connection is pinged, so that a dead peer is noticed
  absl::Duration keepalive_timeout = absl::Seconds(20);  // without an answer to a ping the connection is closed
  absl::Duration min_ping_interval = absl::Seconds(10);  // a client that pings more often is cut off
  absl::Duration max_connection_age;                     // a client is then told to connect anew; 0: never
  absl::Duration max_connection_age_grace = absl::Hours(1);  // open calls may take this long from then on
  bool reflection = true;                                    // says what services and messages there are
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

  // Reports NOT_SERVING, and takes calls as before for `grace`, in which clients and load balancers that watch health
  // leave. Then takes no new call, and returns when the running ones have ended or were cancelled at `timeout`. Calls
  // after the first do nothing.
  void Drain(absl::Duration timeout, absl::Duration grace = absl::ZeroDuration());

  // "127.0.0.1:50051", with the port that was picked; several are separated by commas.
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

  // Binds the addresses, if there are any.
  absl::Status Listen(const GrpcServerOptions& options);
  void AddAcceptors(const GrpcServerOptions& options, grpc::ServerBuilder& builder);
  // Accepts connections there, and watches memory.
  void Accept(const GrpcServerOptions& options);

  std::vector<std::string> names_;  // of the services, as health knows them
  std::string address_;
  guard::HeldBytes held_;
  std::unique_ptr<guard::Listener> listener_;  // null: in-process only
  std::unique_ptr<guard::MemoryWatch> watch_;
  // Of Unix sockets, in plain text, and of all other addresses.
  std::unique_ptr<grpc::experimental::ExternalConnectionAcceptor> socket_acceptor_, acceptor_;
  std::unique_ptr<grpc::Server> server_;
  absl::once_flag drained_;
};

}  // namespace foretoken::ops

#endif  // FORETOKEN_SERVER_OPS_GRPC_SERVER_H_
