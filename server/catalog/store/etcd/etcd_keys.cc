#include "server/catalog/store/etcd/etcd_keys.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "server/catalog/store/checksum.h"
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
  entry.id = PrintableName(name);
  return entry;
}

// Parses the record of an entry or of one of its revisions; what is wrong with it, empty: nothing.
std::string ReadRecord(const std::string& value, const std::string& name, store::EntryRecord& record) {
  if (!record.ParseFromString(value) || record.format_version() <= 0) {
    return absl::StrCat("its value of ", value.size(), " bytes is not a stored entry");
  }
  if (record.format_version() > kFormatVersion) {
    return absl::StrCat("its value has format ", record.format_version(), " of a newer program; this one knows ",
                        kFormatVersion);
  }
  return CheckSeal(value, name) == Seal::kBroken ? kChecksumDiffers : "";
}

}  // namespace

std::string EtcdKeys::Entry(EntryKind kind, const std::string& id) const {
  return absl::StrCat(Entries(), std::string(KindName(kind)), "/", id);
}

std::string EtcdKeys::Prefix(EntryKind kind, const std::string& id) const {
  return absl::StrCat(History(), std::string(KindName(kind)), "/", id, "/");
}

std::string EtcdKeys::Revision(EntryKind kind, const std::string& id, int64_t sequence) const {
  return absl::StrCat(Prefix(kind, id), absl::StrFormat("%010d", sequence));
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
  std::string fault = entry.kind == EntryKind::kUnknown
                          ? "its kind is neither hardware nor model"
                          : ReadRecord(kv.value(), SealName(entry.kind, entry.id), record);
  if (fault.empty() && !record.has_value()) fault = "its value says that it was deleted";
  if (!fault.empty()) {
    MarkUnreadable(std::move(fault), entry);
    return entry;
  }
  entry.value = std::move(*record.mutable_value());
  entry.update_time = absl::FromUnixMicros(record.update_time_us());
  return entry;
}

StoredRevision EtcdKeys::DecodeRevision(EntryKind kind, const std::string& id, const mvccpb::KeyValue& kv,
                                        const std::string& store_id) const {
  const int64_t sequence = SequenceOf(kv.key());
  store::EntryRecord record;
  std::string fault = ReadRecord(kv.value(), SealName(kind, id), record);
  if (fault.empty() && record.sequence() != sequence) fault = absl::StrCat("it is of write ", record.sequence());
  if (!fault.empty()) return UnreadableRevision(kv.mod_revision(), sequence, fault);
  StoredRevision one{.revision = kv.mod_revision(),
                     .sequence = sequence,
                     .update_time = absl::FromUnixMicros(record.update_time_us()),
                     .author = record.author(),
                     .peer = record.peer(),
                     .action = static_cast<WriteAction>(record.action()),
                     .value = std::nullopt,
                     .etag = "",
                     .fault = ""};
  if (!record.has_value()) return one;
  one.value = std::move(*record.mutable_value());
  one.etag = EtagOf(store_id, one.revision);
  return one;
}

std::string SealName(EntryKind kind, const std::string& id) {
  return absl::StrCat("entry/", std::string(KindName(kind)), "/", id);
}

std::string SealName(const std::string& request_id) { return absl::StrCat("request/", request_id); }

std::string RangeEnd(const std::string& prefix) { return prefix.substr(0, prefix.size() - 1) + '0'; }

int64_t SequenceOf(std::string_view history_key) {
  int64_t sequence = 0;
  const std::string_view number = history_key.substr(history_key.rfind('/') + 1);
  return absl::SimpleAtoi(absl::string_view(number.data(), number.size()), &sequence) ? sequence : 0;
}

}  // namespace foretoken::catalog
