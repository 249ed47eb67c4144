// How the store lays out its keys in etcd, under its prefix:
//
//   store                          the layout's version and the store's id
//   head                           put by every write, a HeadRecord: its mod_revision is the store's revision
//   entries/KIND/ID                what is registered, an EntryRecord
//   history/KIND/ID/SEQUENCE       every kept write of it, deletes too, an EntryRecord
//   requests/REQUEST_ID            the answer to a request id, a RequestRecord on a lease
//
// Every record is sealed (checksum.h) under the name of what it is of, so that one which was cut, changed or copied
// from another entry is not taken for what it says.
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
  std::string History() const { return prefix_ + "history/"; }
  std::string Requests() const { return prefix_ + "requests/"; }
  // Revisions of an entry have keys from HistoryBegin to HistoryEnd; others beside them are no concern of the store.
  std::string HistoryBegin(EntryKind kind, const std::string& id) const { return Prefix(kind, id) + '0'; }
  std::string HistoryEnd(EntryKind kind, const std::string& id) const { return Prefix(kind, id) + ':'; }
  std::string Revision(EntryKind kind, const std::string& id, int64_t sequence) const;
  std::string Request(const std::string& request_id) const { return prefix_ + "requests/" + request_id; }

  // What a key and value of an entry's history say. What cannot be read comes with its fault.
  StoredRevision DecodeRevision(EntryKind kind, const std::string& id, const mvccpb::KeyValue& kv,
                                const std::string& store_id) const;

  // What a key and value under Entries() say. What cannot be read comes with its fault.
  StoredEntry Decode(const mvccpb::KeyValue& kv, const std::string& store_id) const;
  // That what was there was deleted.
  StoredEntry Deleted(const mvccpb::KeyValue& kv) const;

 private:
  std::string Prefix(EntryKind kind, const std::string& id) const;

  std::string prefix_;
};

// The end of the range of keys that begin with `prefix`. REQUIRES: it ends in '/'.
std::string RangeEnd(const std::string& prefix);

// The number at the end of a key of an entry's history; 0: there is none.
int64_t SequenceOf(std::string_view history_key);

// What the records of an entry and of a request id are sealed under.
std::string SealName(EntryKind kind, const std::string& id);
std::string SealName(const std::string& request_id);

}  // namespace foretoken::catalog

#endif  // FORETOKEN_SERVER_CATALOG_STORE_ETCD_ETCD_KEYS_H_
