// Calls the members of an etcd cluster. Each call has a deadline. A call that is safe to repeat is tried on one member
// after the other until then, so that callers do not notice the loss of a member or an election.
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

  // Opens no connection yet. Errors: kStoreUnavailable: a file of the options cannot be read.
  static absl::StatusOr<std::unique_ptr<EtcdClient>> Make(const EtcdOptions& options);

  // Tried on the members in turn until the deadline. REQUIRES: the transaction of ReadTxn writes nothing.
  grpc::Status Range(const etcdserverpb::RangeRequest& request, absl::Time deadline,
                     etcdserverpb::RangeResponse& response);
  grpc::Status ReadTxn(const etcdserverpb::TxnRequest& request, absl::Time deadline,
                       etcdserverpb::TxnResponse& response);
  grpc::Status LeaseGrant(const etcdserverpb::LeaseGrantRequest& request, absl::Time deadline,
                          etcdserverpb::LeaseGrantResponse& response);
  grpc::Status Status(absl::Time deadline, etcdserverpb::StatusResponse& response);

  // Tried once. An error is of one of three kinds: the write may have happened (MayHaveHappened); no member took it and
  // it can be tried again (NeverTaken); otherwise the cluster refused it.
  grpc::Status WriteTxn(const etcdserverpb::TxnRequest& request, absl::Time deadline,
                        etcdserverpb::TxnResponse& response);
  static bool MayHaveHappened(const grpc::Status& status);
  static bool NeverTaken(const grpc::Status& status);

  // Opens a stream to the member that answered last. Null: the member cannot be reached. REQUIRES: `context` outlives
  // the stream.
  std::unique_ptr<WatchStream> Watch(grpc::ClientContext& context);

  // Sends the next call and the next stream to another member.
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
  // The token of the user. Empty: no user is configured, or the member gave no token.
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
