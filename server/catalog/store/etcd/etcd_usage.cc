// How much an etcd store holds. The head carries it from write to write, and every write compares the head with what it
// has read, so that of two replicas at the limit one gets in. Where the head does not say it, as after a write of an
// older program, or says that the store is full, everything is counted, unless that was done just now.
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "estimator/base/errors.h"
#include "server/catalog/store/checksum.h"
#include "server/catalog/store/etcd/etcd_store.h"
#include "server/catalog/store/etcd/record.pb.h"

namespace foretoken::catalog {
namespace {

// Counting reads all of the store. So it waits for half a minute, or until writes of this share of the most bytes.
constexpr absl::Duration kCountingInterval = absl::Seconds(30);
constexpr int64_t kCountingShare = 8;
constexpr char kHeadName[] = "head";

std::optional<StoreUsage> ReadHead(const std::string& value) {
  store::HeadRecord record;
  if (CheckSeal(value, kHeadName) != Seal::kGood || !record.ParseFromString(value)) return std::nullopt;
  return StoreUsage{record.entries(), record.bytes()};
}

std::string HeadOf(const StoreUsage& usage) {
  store::HeadRecord record;
  record.set_entries(usage.entries);
  record.set_bytes(usage.bytes);
  return Sealed(record.SerializeAsString(), kHeadName);
}

// What is put is added; what it replaces or prunes is not subtracted: only a counting knows.
StoreUsage After(const StoreWrite& write, bool registered, const etcdserverpb::TxnRequest& txn, StoreUsage usage) {
  for (const etcdserverpb::RequestOp& op : txn.success()) {
    usage.bytes += static_cast<int64_t>(op.request_put().key().size() + op.request_put().value().size());
  }
  usage.entries += (write.value ? 1 : 0) - (registered ? 1 : 0);
  return usage;
}

}  // namespace

absl::StatusOr<StoreUsage> EtcdStore::Count(int64_t etcd_revision, absl::Time deadline) {
  StoreUsage usage;
  for (const std::string& prefix : {keys_.Entries(), keys_.History(), keys_.Requests()}) {
    const bool entries = prefix == keys_.Entries();
    const absl::Status status =
        ReadPages(prefix, etcd_revision, nullptr, deadline, [&usage, entries](const mvccpb::KeyValue& kv) {
          usage.bytes += static_cast<int64_t>(kv.key().size() + kv.value().size());
          if (entries) ++usage.entries;
        });
    if (!status.ok()) return status;
  }
  return usage;
}

absl::StatusOr<StoreUsage> EtcdStore::UsageOf(const Before& before, bool anew, absl::Time deadline) {
  const std::optional<StoreUsage> told = ReadHead(before.head_value);
  if (told && !anew) return *told;
  {
    absl::MutexLock lock(&usage_mutex_);
    const bool grown = told && told->bytes - usage_.bytes > limits_.max_bytes / kCountingShare;
    if (!grown && absl::Now() - counted_ < kCountingInterval) return told.value_or(usage_);
  }
  const absl::StatusOr<StoreUsage> counted = Count(before.etcd_revision, deadline);
  if (!counted.ok()) return counted.status();
  absl::MutexLock lock(&usage_mutex_);
  usage_ = *counted;
  counted_ = absl::Now();
  return counted;
}

absl::Status EtcdStore::AddHead(const StoreWrite& write, const Before& before, absl::Time deadline,
                                etcdserverpb::TxnRequest& txn) {
  absl::Status room;
  StoreUsage after;
  for (const bool anew : {false, true}) {
    const absl::StatusOr<StoreUsage> usage = UsageOf(before, anew, deadline);
    if (!usage.ok()) return usage.status();
    after = After(write, before.entry_revision > 0, txn, *usage);
    room = CheckRoom(write, *usage, after, limits_);
    if (room.ok()) break;
  }
  if (!room.ok()) return room;
  etcdserverpb::Compare& compare = *txn.add_compare();
  compare.set_target(etcdserverpb::Compare::MOD);
  compare.set_key(keys_.Head());
  compare.set_mod_revision(before.head_revision);
  etcdserverpb::PutRequest& put = *txn.add_success()->mutable_request_put();
  put.set_key(keys_.Head());
  put.set_value(HeadOf(after));
  return absl::OkStatus();
}

}  // namespace foretoken::catalog
