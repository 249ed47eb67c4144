// What happens under the entries of an etcd store, as it happens: one thread reads a watch and keeps the last changes.
// A stream that breaks is opened again, on another member, where it left off.
#ifndef FORETOKEN_SERVER_CATALOG_STORE_ETCD_ETCD_WATCH_H_
#define FORETOKEN_SERVER_CATALOG_STORE_ETCD_ETCD_WATCH_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "server/catalog/store/etcd/etcd_client.h"
#include "server/catalog/store/etcd/etcd_keys.h"
#include "server/catalog/store/store.h"

namespace foretoken::catalog {

// Thread-safe.
class EtcdWatch {
 public:
  // REQUIRES: `client` outlives it. `changed` is called after each change, and when there is something to read in full.
  EtcdWatch(EtcdClient& client, EtcdKeys keys, std::function<void()> changed);
  ~EtcdWatch();
  EtcdWatch(const EtcdWatch&) = delete;
  EtcdWatch& operator=(const EtcdWatch&) = delete;

  // Told after a full reading: the store of this id is known up to `known`, a revision of the store, which it was at
  // `read`, a revision of etcd. A watch that is as far goes on; one that is behind, or ahead as after a backup was
  // restored, begins there.
  void KnownUpTo(int64_t known, int64_t read, const std::string& store_id);

  // The last change that was seen; 0: none.
  int64_t Last();

  // What happened after `after`, waiting for `reach` until `deadline`; nothing: it cannot be told.
  std::optional<StoreChanges> Changes(int64_t after, int64_t reach, absl::Time deadline);

 private:
  void Run();
  // Opens the stream at `start` and reads until it ends or `round` is over.
  void ReadStream(int64_t start, int64_t round);
  // False: the stream is of no more use.
  bool Take(const etcdserverpb::WatchResponse& response, int64_t round);
  void Append(StoredEntry entry) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool HasWork() const ABSL_SHARED_LOCKS_REQUIRED(mutex_) { return stop_ || (known_ && !lost_); }

  EtcdClient& client_;
  const EtcdKeys keys_;
  const std::function<void()> changed_;

  absl::Mutex mutex_;
  bool stop_ ABSL_GUARDED_BY(mutex_) = false;
  bool known_ ABSL_GUARDED_BY(mutex_) = false;  // KnownUpTo was called
  bool lost_ ABSL_GUARDED_BY(mutex_) = false;   // etcd has forgotten what comes next
  int64_t round_ ABSL_GUARDED_BY(mutex_) = 0;   // moves when the stream has to begin elsewhere
  int64_t next_ ABSL_GUARDED_BY(mutex_) = 0;    // the revision of etcd to begin at
  int64_t since_ ABSL_GUARDED_BY(mutex_) = 0;   // changes_ has everything after this
  int64_t last_ ABSL_GUARDED_BY(mutex_) = 0;    // ... up to this
  std::string store_id_ ABSL_GUARDED_BY(mutex_);
  std::deque<StoredEntry> changes_ ABSL_GUARDED_BY(mutex_);
  size_t bytes_ ABSL_GUARDED_BY(mutex_) = 0;                        // of the values in changes_
  grpc::ClientContext* context_ ABSL_GUARDED_BY(mutex_) = nullptr;  // of the stream that is open
  std::thread thread_;
};

}  // namespace foretoken::catalog

#endif  // FORETOKEN_SERVER_CATALOG_STORE_ETCD_ETCD_WATCH_H_
