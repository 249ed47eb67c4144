#include "server/catalog/store/etcd/etcd_keys.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "server/catalog/store/etcd/record.pb.h"

namespace foretoken::catalog {
namespace {

constexpr int kFormatVersion = 1;

// Kind and id out of "hardware/my-chip"; all of it as the id of an unknown kind where it is no such name.
StoredEntry NameOf(const std::string& name) {
  StoredEntry entry;
  for (const EntryKind kind : {EntryKind::kHardware, EntryKind::kModel}) {
    const std::string folder = absl::StrCat(std::string(KindName(kind)), "/");
    if (name.compare(0, folder.size(), folder) != 0) continue;
    entry.kind = kind;
    entry.id = name.substr(folder.size());
    return entry;
  }
  entry.kind = EntryKind::kUnknown;
  entry.id = name;
  return entry;
}

}  // namespace

std::string EtcdKeys::Entry(EntryKind kind, const std::string& id) const {
  return absl::StrCat(Entries(), std::string(KindName(kind)), "/", id);
}

std::string EtcdKeys::History(EntryKind kind, const std::string& id) const {
  return absl::StrCat(prefix_, "history/", std::string(KindName(kind)), "/", id, "/");
}

std::string EtcdKeys::Revision(EntryKind kind, const std::string& id, int64_t sequence) const {
  return absl::StrCat(History(kind, id), absl::StrFormat("%010d", sequence));
}

StoredEntry EtcdKeys::Deleted(const mvccpb::KeyValue& kv) const {
  StoredEntry entry = NameOf(kv.key().substr(std::min(Entries().size(), kv.key().size())));
  entry.revision = kv.mod_revision();
  return entry;
}

StoredEntry EtcdKeys::Decode(const mvccpb::KeyValue& kv, const std::string& store_id) const {
  StoredEntry entry = Deleted(kv);
  entry.etag = EtagOf(store_id, entry.revision);
  store::EntryRecord record;
  if (entry.kind == EntryKind::kUnknown) {
    entry.fault = "its kind is neither hardware nor model";
  } else if (!record.ParseFromString(kv.value()) || record.format_version() == 0) {
    entry.fault = absl::StrCat("its value of ", kv.value().size(), " bytes is not a stored entry");
  } else if (record.format_version() > kFormatVersion) {
    entry.fault = absl::StrCat("its value has format ", record.format_version(), " of a newer program; this one knows ",
                               kFormatVersion);
  } else {
    entry.value = record.value();
    entry.update_time = absl::FromUnixMicros(record.update_time_us());
  }
  return entry;
}

std::string RangeEnd(const std::string& prefix) { return prefix.substr(0, prefix.size() - 1) + '0'; }

int64_t SequenceOf(std::string_view history_key) {
  int64_t sequence = 0;
  const std::string_view number = history_key.substr(history_key.rfind('/') + 1);
  return absl::SimpleAtoi(absl::string_view(number.data(), number.size()), &sequence) ? sequence : 0;
}

}  // namespace foretoken::catalog
