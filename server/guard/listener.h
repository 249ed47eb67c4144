// Accepts connections and hands them on, within limits: in all, of one address, and of the file descriptors that the
// process has. gRPC 1.51's own listener has no limit, and one that finds no descriptor left never accepts again.
//
//   auto listener = Listener::Open({.address = "127.0.0.1:0"});
//   (*listener)->Start([&](int listener_fd, int fd, bool is_socket) { acceptor->HandleNewConnection(...); });
//
// What it hands on belongs to whoever takes it, who also closes it. The listener notices that by the socket's cookie,
// a number of the kernel's that no other socket has.
#ifndef FORETOKEN_SERVER_GUARD_LISTENER_H_
#define FORETOKEN_SERVER_GUARD_LISTENER_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"

namespace foretoken::guard {

struct ListenerOptions {
  // Addresses, separated by commas: "127.0.0.1:50051", "[::]:50051", "host:0", "unix:/path".
  std::string address;
  int max_connections = 4096;
  int max_connections_per_address = 1024;  // never more than three quarters of max_connections: others get in
};

// Thread-safe.
class Listener {
 public:
  // `is_socket`: the connection came through a Unix socket.
  using Accept = std::function<void(int listener_fd, int fd, bool is_socket)>;

  // Connections that were refused, by reason.
  struct Refused {
    uint64_t all = 0;          // max_connections
    uint64_t address = 0;      // max_connections_per_address
    uint64_t descriptors = 0;  // none was left
    uint64_t memory = 0;       // the process was short of it
  };

  // Listens; connections wait until Start. A port 0 becomes a free one. A socket file at a unix path that nobody
  // listens on is replaced.
  //
  // Errors: UNAVAILABLE: one of the addresses cannot be listened on.
  static absl::StatusOr<std::unique_ptr<Listener>> Open(const ListenerOptions& options);
  ~Listener();
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  // Accepts from now on, on a thread of its own. REQUIRES: called once.
  void Start(Accept accept);

  // Accepts no more, and refuses what waits. Connections that were handed on stay. Calls after the first do nothing.
  void Stop();

  // "127.0.0.1:50051", with the port that was picked; several are separated by commas.
  const std::string& address() const { return address_; }

  // While set, every new connection is refused.
  void SetShort(bool is_short) { short_ = is_short; }

  // Notes what each connection has received so far.
  void Measure();

  // Ends the connection that received most since Measure, unless that is less than `least` bytes. Returns who that
  // was, empty where there is none. A way out of last resort: gRPC 1.51 sets no bound to what one connection sends in
  // frames of headers, and has no call to end a connection.
  std::string CutHeaviest(int64_t least);

  Refused refused() const;
  int connections();

 private:
  struct Connection {
    uint64_t cookie = 0;
    std::string host;
    int64_t received = 0;  // at the last Measure
  };

  struct Socket {
    int fd = -1;
    bool is_unix = false;
  };

  Listener(const ListenerOptions& options, std::vector<Socket> sockets, std::string address);

  void Run(const Accept& accept);
  void AcceptFrom(const Socket& socket, const Accept& accept);
  void RefuseForWantOfDescriptors(int socket);
  // Notes the connection, or says why not: the counter of its refusal.
  std::atomic<uint64_t>* Admit(int fd);
  void Forget(absl::flat_hash_map<int, Connection>::iterator connection) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Forgets connections that ended. Rarely does anything within 10 ms of the last time.
  void Prune() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const ListenerOptions options_;
  const std::vector<Socket> sockets_;
  const std::string address_;
  int spare_ = -1;  // a descriptor to let go of where none is left
  int wake_ = -1;   // an eventfd that ends the thread
  std::thread thread_;
  std::atomic<bool> short_ = false;
  std::atomic<uint64_t> refused_all_ = 0;
  std::atomic<uint64_t> refused_address_ = 0;
  std::atomic<uint64_t> refused_descriptors_ = 0;
  std::atomic<uint64_t> refused_memory_ = 0;
  absl::Mutex mutex_;
  absl::flat_hash_map<int, Connection> connections_ ABSL_GUARDED_BY(mutex_);  // by descriptor
  absl::flat_hash_map<std::string, int> of_host_ ABSL_GUARDED_BY(mutex_);
  int64_t pruned_ns_ ABSL_GUARDED_BY(mutex_) = 0;
  bool stopped_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace foretoken::guard

#endif  // FORETOKEN_SERVER_GUARD_LISTENER_H_
