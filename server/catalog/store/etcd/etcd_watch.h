// Follows the changes of an etcd store: one thread reads a watch of the entries and keeps the last changes. A stream
// that breaks is opened again on another member, from the last change on.
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
  // `changed` is called after each change, and when the store must be read in full. REQUIRES: `client` outlives this.
  EtcdWatch(EtcdClient& client, EtcdKeys keys, std::function<void()> changed);
  ~EtcdWatch();
  EtcdWatch(const EtcdWatch&) = delete;
  EtcdWatch& operator=(const EtcdWatch&) = delete;

  // Call this after a full reading of the store. `known` is the store's revision that was read, `read` the revision of
  // etcd at that moment. A watch that has come as far goes on. A watch that is behind, or ahead because a backup was
  // restored, begins again at `read`.
  void KnownUpTo(int64_t known, int64_t read, const std::string& store_id);

  // The revision of the last change that was seen. 0: none.
  int64_t Last();

  // The changes after revision `after`. Waits for revision `reach` until `deadline`. Nothing: the watch does not know
  // all of them.
  std::optional<StoreChanges> Changes(int64_t after, int64_t reach, absl::Time deadline);

 private:
  void Run();
  // Opens the stream at `start` and reads until it ends or `round` is over.
  void ReadStream(int64_t start, int64_t round);
  // False: the stream has to be closed.
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
  int64_t last_ ABSL_GUARDED_BY(mutex_) = 0;    // changes_ has everything up to this
  std::string store_id_ ABSL_GUARDED_BY(mutex_);
  std::deque<StoredEntry> changes_ ABSL_GUARDED_BY(mutex_);
  size_t bytes_ ABSL_GUARDED_BY(mutex_) = 0;                        // of the values in changes_
  grpc::ClientContext* context_ ABSL_GUARDED_BY(mutex_) = nullptr;  // of the stream that is open
  std::thread thread_;
};

}  // namespace foretoken::catalog

#endif  // FORETOKEN_SERVER_CATALOG_STORE_ETCD_ETCD_WATCH_H_
