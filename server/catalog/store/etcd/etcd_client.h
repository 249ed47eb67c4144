// Calls to the members of an etcd cluster. Each call has a deadline; what is safe to repeat is tried on one member
// after the other until then, so that the loss of a member, or of the leader for an election, is not seen.
#ifndef FORETOKEN_SERVER_CATALOG_STORE_ETCD_ETCD_CLIENT_H_
#define FORETOKEN_SERVER_CATALOG_STORE_ETCD_ETCD_CLIENT_H_

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "grpcpp/channel.h"
#include "grpcpp/client_context.h"
#include "server/catalog/store/etcd/etcd_options.h"
#include "server/catalog/store/etcd/rpc.grpc.pb.h"

namespace foretoken::catalog {

// Thread-safe.
class EtcdClient {
 public:
  using WatchStream = grpc::ClientReaderWriter<etcdserverpb::WatchRequest, etcdserverpb::WatchResponse>;

  // Connects to nobody yet. Errors: kStoreUnavailable: a file of the options cannot be read.
  static absl::StatusOr<std::unique_ptr<EtcdClient>> Make(const EtcdOptions& options);

  // Repeated over the members until the deadline; of a transaction only where it writes nothing.
  grpc::Status Range(const etcdserverpb::RangeRequest& request, absl::Time deadline,
                     etcdserverpb::RangeResponse& response);
  grpc::Status ReadTxn(const etcdserverpb::TxnRequest& request, absl::Time deadline,
                       etcdserverpb::TxnResponse& response);
  grpc::Status LeaseGrant(const etcdserverpb::LeaseGrantRequest& request, absl::Time deadline,
                          etcdserverpb::LeaseGrantResponse& response);
  grpc::Status Status(absl::Time deadline, etcdserverpb::StatusResponse& response);

  // Tried once. Its errors are of three kinds: it may have happened; no member took it, and it can be tried again; else
  // it was refused.
  grpc::Status WriteTxn(const etcdserverpb::TxnRequest& request, absl::Time deadline,
                        etcdserverpb::TxnResponse& response);
  static bool MayHaveHappened(const grpc::Status& status);
  static bool NeverTaken(const grpc::Status& status);

  // A stream on the member that answered last; null: it cannot be reached. REQUIRES: `context` outlives it.
  std::unique_ptr<WatchStream> Watch(grpc::ClientContext& context);

  // The next call and stream go to another member.
  void Avoid();

  // "10.0.0.1:2379,10.0.0.2:2379".
  const std::string& name() const { return name_; }

 private:
  struct Member {
    std::string name;
    std::shared_ptr<grpc::Channel> channel;
    std::unique_ptr<etcdserverpb::KV::Stub> kv;
    std::unique_ptr<etcdserverpb::Watch::Stub> watch;
    std::unique_ptr<etcdserverpb::Lease::Stub> lease;
    std::unique_ptr<etcdserverpb::Maintenance::Stub> maintenance;
    std::unique_ptr<etcdserverpb::Auth::Stub> auth;
  };
  using Attempt = std::function<grpc::Status(Member&, grpc::ClientContext*)>;

  EtcdClient(const EtcdOptions& options, std::string password) : user_(options.user), password_(std::move(password)) {}

  size_t Preferred() const { return preferred_.load(std::memory_order_relaxed) % members_.size(); }
  grpc::Status Once(Member& member, absl::Time deadline, const Attempt& attempt);
  grpc::Status OverMembers(absl::Time deadline, const Attempt& attempt);
  // The token of the user; empty: there is no user, or it could not be had.
  std::string Token(Member& member, absl::Time deadline);
  void ForgetToken();

  const std::string user_;
  const std::string password_;
  std::string name_;
  std::vector<Member> members_;
  std::atomic<size_t> preferred_{0};
  absl::Mutex token_mutex_;
  std::string token_ ABSL_GUARDED_BY(token_mutex_);
};

}  // namespace foretoken::catalog

#endif  // FORETOKEN_SERVER_CATALOG_STORE_ETCD_ETCD_CLIENT_H_
