// How the store lays out its keys in etcd, under its prefix:
//
//   store                          the layout's version and the store's id
//   head                           put by every write: its mod_revision is the store's revision
//   entries/KIND/ID                what is registered, an EntryRecord
//   history/KIND/ID/SEQUENCE       every kept write of it, deletes too, an EntryRecord
//   requests/REQUEST_ID            the answer to a request id, a RequestRecord on a lease
#ifndef FORETOKEN_SERVER_CATALOG_STORE_ETCD_ETCD_KEYS_H_
#define FORETOKEN_SERVER_CATALOG_STORE_ETCD_ETCD_KEYS_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "server/catalog/store/etcd/kv.pb.h"
#include "server/catalog/store/store.h"

namespace foretoken::catalog {

class EtcdKeys {
 public:
  explicit EtcdKeys(std::string prefix) : prefix_(std::move(prefix)) {}

  std::string Store() const { return prefix_ + "store"; }
  std::string Head() const { return prefix_ + "head"; }
  std::string Entries() const { return prefix_ + "entries/"; }
  std::string Entry(EntryKind kind, const std::string& id) const;
  std::string History(EntryKind kind, const std::string& id) const;
  std::string Revision(EntryKind kind, const std::string& id, int64_t sequence) const;
  std::string Request(const std::string& request_id) const { return prefix_ + "requests/" + request_id; }

  // What a key and value under Entries() say. What cannot be read comes with its fault.
  StoredEntry Decode(const mvccpb::KeyValue& kv, const std::string& store_id) const;
  // That what was there was deleted.
  StoredEntry Deleted(const mvccpb::KeyValue& kv) const;

 private:
  std::string prefix_;
};

// The end of the range of keys that begin with `prefix`. REQUIRES: it ends in '/'.
std::string RangeEnd(const std::string& prefix);

// The number at the end of a key of History(); 0: there is none.
int64_t SequenceOf(std::string_view history_key);

}  // namespace foretoken::catalog

#endif  // FORETOKEN_SERVER_CATALOG_STORE_ETCD_ETCD_KEYS_H_
