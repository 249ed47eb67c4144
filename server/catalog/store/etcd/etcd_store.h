// The shared store: an etcd cluster of version 3.4 or later, for replicas on many hosts (etcd_keys.h has the layout).
//
// A write is one transaction that compares what was read before it, so that one of several writers wins. No write is
// made twice, because a writer that lost its answer looks for its own write before it tries again. Reads are
// linearizable. All calls survive the loss of a minority of members. Without a majority they fail by their deadline.
#ifndef FORETOKEN_SERVER_CATALOG_STORE_ETCD_ETCD_STORE_H_
#define FORETOKEN_SERVER_CATALOG_STORE_ETCD_ETCD_STORE_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "server/catalog/store/etcd/etcd_client.h"
#include "server/catalog/store/etcd/etcd_keys.h"
#include "server/catalog/store/etcd/etcd_options.h"
#include "server/catalog/store/etcd/etcd_watch.h"
#include "server/catalog/store/store.h"

namespace foretoken::catalog {

class EtcdStore : public CatalogStore {
 public:
  // Errors: kStoreUnavailable: no majority of members answers, none is an etcd of version 3.4 or later, or the prefix
  // holds the layout of a newer program.
  static absl::StatusOr<std::unique_ptr<EtcdStore>> Open(const EtcdOptions& options, const StoreLimits& limits = {});

  std::string_view kind() const override { return "etcd"; }
  absl::StatusOr<StoreContents> ReadAll() override;
  absl::StatusOr<int64_t> ReadRevision(absl::Time deadline) override;
  absl::StatusOr<std::optional<StoreChanges>> ReadChanges(int64_t after, int64_t reach, absl::Time deadline) override;
  absl::StatusOr<std::vector<StoredRevision>> ReadHistory(EntryKind kind, const std::string& id) override;
  absl::StatusOr<StoreWriteResult> Write(const StoreWrite& write) override;
  void OnChange(std::function<void()> changed) override;

 private:
  // What a write reads before it is tried.
  struct Before {
    std::string store_id;
    int64_t head_revision = 0;  // 0: nothing was ever written
    std::string head_value;
    int64_t etcd_revision = 0;     // at which all this is so
    int64_t entry_revision = 0;    // 0: nothing is registered
    int64_t request_revision = 0;  // 0: the request id is not known
    std::string request_value;
    int64_t last_sequence = 0;              // 0: never registered
    std::vector<mvccpb::KeyValue> history;  // the newest first
  };
  enum class Outcome { kWritten, kOthersWereFaster, kNotTaken, kLeaseIsGone, kInDoubt };

  EtcdStore(std::unique_ptr<EtcdClient> client, const EtcdOptions& options, const StoreLimits& limits)
      : client_(std::move(client)), keys_(options.prefix), limits_(limits) {}

  absl::Status Prepare();
  // All keys under `prefix` at a revision of etcd, or those that come after `first`, where it is not null.
  absl::Status ReadPages(const std::string& prefix, int64_t etcd_revision, const etcdserverpb::RangeResponse* first,
                         absl::Time deadline, const std::function<void(const mvccpb::KeyValue&)>& take);
  // The store's id, which was read beside other keys. Makes one where the store has none.
  absl::StatusOr<std::string> StoreId(const etcdserverpb::RangeResponse& read, absl::Time deadline);

  absl::StatusOr<Before> ReadBefore(const StoreWrite& write, bool whole_history, absl::Time deadline);
  absl::StatusOr<std::optional<StoreWriteResult>> FindReplay(const StoreWrite& write, const Before& before) const;
  std::optional<StoreWriteResult> FindOwn(const StoreWrite& write, const Before& before, uint64_t write_id) const;
  // The write's own part of the transaction; the head comes with the room that is left.
  etcdserverpb::TxnRequest MakeTxn(const StoreWrite& write, const Before& before, uint64_t write_id,
                                   int64_t lease) const;
  // Adds the head to the transaction, with what the store holds after it, if there is room.
  absl::Status AddHead(const StoreWrite& write, const Before& before, absl::Time deadline,
                       etcdserverpb::TxnRequest& txn);
  // What the store held when `before` was read, by the head or by counting; `anew`: by counting, if that was not done
  // just now.
  absl::StatusOr<StoreUsage> UsageOf(const Before& before, bool anew, absl::Time deadline);
  absl::StatusOr<StoreUsage> Count(int64_t etcd_revision, absl::Time deadline);
  absl::StatusOr<Outcome> Try(const etcdserverpb::TxnRequest& txn, absl::Time deadline, int64_t& revision);
  // A lease that lives as long as request ids are remembered. The writes of an hour share it. 0: no request id.
  absl::StatusOr<int64_t> LeaseFor(const StoreWrite& write, absl::Time deadline);
  void ForgetLease();
  absl::Status Error(std::string_view doing, const grpc::Status& status) const;

  const std::unique_ptr<EtcdClient> client_;
  const EtcdKeys keys_;
  const StoreLimits limits_;
  absl::Mutex usage_mutex_;
  StoreUsage usage_ ABSL_GUARDED_BY(usage_mutex_);  // as last counted
  absl::Time counted_ ABSL_GUARDED_BY(usage_mutex_) = absl::InfinitePast();
  absl::Mutex lease_mutex_;
  int64_t lease_ ABSL_GUARDED_BY(lease_mutex_) = 0;
  absl::Time lease_granted_ ABSL_GUARDED_BY(lease_mutex_) = absl::InfinitePast();
  std::unique_ptr<EtcdWatch> watch_;  // from OnChange on
};

}  // namespace foretoken::catalog

#endif  // FORETOKEN_SERVER_CATALOG_STORE_ETCD_ETCD_STORE_H_
