// Writing to etcd: read what is there, compare it in one transaction with what is to come.
#include <algorithm>
#include <utility>

#include "absl/random/random.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "estimator/base/errors.h"
#include "server/catalog/store/checksum.h"
#include "server/catalog/store/etcd/etcd_store.h"
#include "server/catalog/store/etcd/record.pb.h"
#include "server/catalog/store/store_fault.h"

namespace foretoken::catalog {
namespace {

using etcdserverpb::Compare;
using etcdserverpb::RangeRequest;
using etcdserverpb::RangeResponse;
using etcdserverpb::TxnRequest;

constexpr int kFormatVersion = 1;
constexpr absl::Duration kLeaseAge = absl::Hours(1);  // a lease is shared for this long
constexpr int64_t kLastSequence = 9'999'999'999;      // that keys of the history have digits for

uint64_t RandomWriteId() {
  absl::BitGen random;
  return absl::Uniform<uint64_t>(random);
}

void AddCompare(TxnRequest& txn, const std::string& key, int64_t mod_revision) {
  Compare& compare = *txn.add_compare();
  compare.set_target(Compare::MOD);
  compare.set_key(key);
  compare.set_mod_revision(mod_revision);
}

void AddPut(TxnRequest& txn, const std::string& key, std::string value, int64_t lease) {
  etcdserverpb::PutRequest& put = *txn.add_success()->mutable_request_put();
  put.set_key(key);
  put.set_value(std::move(value));
  put.set_lease(lease);
}

store::EntryRecord RecordOf(const StoreWrite& write, int64_t sequence, uint64_t write_id) {
  store::EntryRecord record;
  record.set_format_version(kFormatVersion);
  if (write.value) record.set_value(*write.value);
  record.set_update_time_us(absl::ToUnixMicros(write.now));
  record.set_author(write.author);
  record.set_peer(write.peer);
  record.set_action(static_cast<int32_t>(write.action));
  record.set_sequence(sequence);
  record.set_write_id(write_id);
  return record;
}

StoreWriteResult ResultOf(const StoreWrite& write, const std::string& store_id, int64_t revision) {
  return {.etag = write.value ? EtagOf(store_id, revision) : "",
          .revision = revision,
          .update_time = absl::FromUnixMicros(absl::ToUnixMicros(write.now)),
          .value = write.value};
}

}  // namespace

absl::StatusOr<StoreWriteResult> EtcdStore::Write(const StoreWrite& write) {
  const absl::Time deadline = std::min(write.deadline, absl::Now() + kWriteTimeout);
  const uint64_t write_id = RandomWriteId();
  bool in_doubt = false;  // an earlier try may have succeeded, or may still
  const auto outcome = [&in_doubt] { return in_doubt ? kMayBeWritten : kNothingWritten; };
  while (absl::Now() < deadline) {
    const absl::StatusOr<Before> before = ReadBefore(write, in_doubt, deadline);
    if (!before.ok()) return WithOutcome(before.status(), outcome());
    if (auto own = FindOwn(write, *before, write_id)) return *std::move(own);
    absl::StatusOr<std::optional<StoreWriteResult>> replay = FindReplay(write, *before);
    if (!replay.ok()) return replay.status();
    if (*replay) return **std::move(replay);
    std::optional<std::string> current;
    if (before->entry_revision > 0) current = EtagOf(before->store_id, before->entry_revision);
    // A refusal is final even in doubt: what the earlier try compared with is no more, so it can never succeed.
    if (absl::Status status = CheckPrecondition(write, current); !status.ok()) return status;
    const absl::StatusOr<int64_t> lease = write.dry_run ? 0 : LeaseFor(write, deadline);
    if (!lease.ok()) return WithOutcome(lease.status(), outcome());
    TxnRequest txn = MakeTxn(write, *before, write_id, *lease);
    if (absl::Status status = AddHead(write, *before, deadline, txn); !status.ok()) {
      return WithOutcome(status, outcome());
    }
    if (write.dry_run) return StoreWriteResult{"", 0, write.now, write.value};
    int64_t revision = 0;
    const absl::StatusOr<Outcome> tried = Try(txn, deadline, revision);
    if (!tried.ok()) return WithOutcome(tried.status(), outcome());
    if (*tried == Outcome::kWritten) return ResultOf(write, before->store_id, revision);
    if (*tried == Outcome::kLeaseIsGone) ForgetLease();
    in_doubt = in_doubt || *tried == Outcome::kInDoubt;
  }
  return WithOutcome(StoreFault("etcd: no answer in time", absl::StrCat("etcd:", client_->name())), outcome());
}

absl::StatusOr<EtcdStore::Before> EtcdStore::ReadBefore(const StoreWrite& write, bool whole_history,
                                                        absl::Time deadline) {
  TxnRequest txn;
  txn.add_success()->mutable_request_range()->set_key(keys_.Store());
  RangeRequest& entry = *txn.add_success()->mutable_request_range();
  entry.set_key(keys_.Entry(write.kind, write.id));
  entry.set_keys_only(true);
  RangeRequest& history = *txn.add_success()->mutable_request_range();
  history.set_key(keys_.HistoryBegin(write.kind, write.id));
  history.set_range_end(keys_.HistoryEnd(write.kind, write.id));
  history.set_sort_order(RangeRequest::DESCEND);
  history.set_limit(whole_history ? 0 : 1);
  history.set_keys_only(!whole_history);
  txn.add_success()->mutable_request_range()->set_key(keys_.Head());
  if (!write.request_id.empty()) txn.add_success()->mutable_request_range()->set_key(keys_.Request(write.request_id));
  etcdserverpb::TxnResponse response;
  if (grpc::Status status = client_->ReadTxn(txn, deadline, response); !status.ok()) return Error("read", status);
  const absl::StatusOr<std::string> store_id = StoreId(response.responses(0).response_range(), deadline);
  if (!store_id.ok()) return store_id.status();
  Before before{.store_id = *store_id, .etcd_revision = response.header().revision()};
  const auto& entries = response.responses(1).response_range().kvs();
  if (!entries.empty()) before.entry_revision = entries[0].mod_revision();
  const auto& revisions = response.responses(2).response_range().kvs();
  before.history.assign(revisions.begin(), revisions.end());
  if (!revisions.empty()) before.last_sequence = SequenceOf(revisions[0].key());
  if (!revisions.empty() && (before.last_sequence < 1 || before.last_sequence >= kLastSequence)) {
    return Refusal(Reason::kStoreUnavailable, "",
                   absl::StrCat("catalog store etcd: the history of \"", write.id, "\" ends in a foreign key, \"",
                                PrintableName(revisions[0].key()), "\""));
  }
  if (const RangeResponse& head = response.responses(3).response_range(); head.kvs_size() > 0) {
    before.head_revision = head.kvs(0).mod_revision();
    before.head_value = head.kvs(0).value();
  }
  if (response.responses_size() > 4 && response.responses(4).response_range().kvs_size() > 0) {
    const mvccpb::KeyValue& request = response.responses(4).response_range().kvs(0);
    before.request_revision = request.mod_revision();
    before.request_value = request.value();
  }
  return before;
}

absl::StatusOr<std::optional<StoreWriteResult>> EtcdStore::FindReplay(const StoreWrite& write,
                                                                      const Before& before) const {
  store::RequestRecord record;
  if (before.request_revision == 0) return std::nullopt;
  const Seal seal = CheckSeal(before.request_value, SealName(write.request_id));
  if (!record.ParseFromString(before.request_value) || seal == Seal::kBroken) return DamagedAnswer(write);
  const absl::Time first = absl::FromUnixMicros(record.update_time_us());
  if (first < write.now - kRequestIdLifetime) return std::nullopt;
  if (absl::Status status = CheckReplay(write, record.payload_digest()); !status.ok()) return status;
  StoreWriteResult result{"", before.request_revision, first, std::nullopt};
  if (record.has_value()) {
    result.etag = EtagOf(before.store_id, result.revision);
    result.value = record.value();
  }
  return result;
}

std::optional<StoreWriteResult> EtcdStore::FindOwn(const StoreWrite& write, const Before& before,
                                                   uint64_t write_id) const {
  for (const mvccpb::KeyValue& kv : before.history) {
    store::EntryRecord record;
    if (!record.ParseFromString(kv.value()) || record.write_id() != write_id) continue;
    return ResultOf(write, before.store_id, kv.mod_revision());
  }
  return std::nullopt;
}

etcdserverpb::TxnRequest EtcdStore::MakeTxn(const StoreWrite& write, const Before& before, uint64_t write_id,
                                            int64_t lease) const {
  const std::string entry_key = keys_.Entry(write.kind, write.id);
  const int64_t sequence = before.last_sequence + 1;
  const std::string revision_key = keys_.Revision(write.kind, write.id, sequence);
  const std::string record =
      Sealed(RecordOf(write, sequence, write_id).SerializeAsString(), SealName(write.kind, write.id));
  TxnRequest txn;
  AddCompare(txn, entry_key, before.entry_revision);
  AddCompare(txn, revision_key, 0);  // registered and deleted meanwhile is a change too
  if (write.value) {
    AddPut(txn, entry_key, record, 0);
  } else {
    txn.add_success()->mutable_request_delete_range()->set_key(entry_key);
  }
  AddPut(txn, revision_key, record, 0);
  if (sequence > kKeptRevisions) {
    etcdserverpb::DeleteRangeRequest& prune = *txn.add_success()->mutable_request_delete_range();
    prune.set_key(keys_.HistoryBegin(write.kind, write.id));
    prune.set_range_end(keys_.Revision(write.kind, write.id, sequence - kKeptRevisions + 1));
  }
  if (!write.request_id.empty()) {
    store::RequestRecord request;
    request.set_payload_digest(write.payload_digest);
    if (write.value) request.set_value(*write.value);
    request.set_update_time_us(absl::ToUnixMicros(write.now));
    AddCompare(txn, keys_.Request(write.request_id), before.request_revision);
    AddPut(txn, keys_.Request(write.request_id), Sealed(request.SerializeAsString(), SealName(write.request_id)),
           lease);
  }
  return txn;
}

absl::StatusOr<EtcdStore::Outcome> EtcdStore::Try(const TxnRequest& txn, absl::Time deadline, int64_t& revision) {
  etcdserverpb::TxnResponse response;
  const grpc::Status status = client_->WriteTxn(txn, deadline, response);
  if (status.ok()) {
    revision = response.header().revision();
    return response.succeeded() ? Outcome::kWritten : Outcome::kOthersWereFaster;
  }
  if (EtcdClient::MayHaveHappened(status)) {
    client_->Avoid();
    return Outcome::kInDoubt;
  }
  if (EtcdClient::NeverTaken(status)) {  // for want of a connection or a token
    client_->Avoid();
    return Outcome::kNotTaken;
  }
  if (absl::StrContains(status.error_message(), "lease not found")) return Outcome::kLeaseIsGone;
  if (absl::StrContains(status.error_message(), "too large")) {
    return Refusal(Reason::kLimitExceeded, "spec",
                   absl::StrCat("spec is too large for etcd in a write of ", txn.ByteSizeLong(),
                                " bytes: ", status.error_message()));
  }
  return Error("write", status);
}

absl::StatusOr<int64_t> EtcdStore::LeaseFor(const StoreWrite& write, absl::Time deadline) {
  if (write.request_id.empty()) return 0;
  absl::MutexLock lock(&lease_mutex_);
  if (lease_ != 0 && absl::Now() - lease_granted_ < kLeaseAge) return lease_;
  etcdserverpb::LeaseGrantRequest request;
  request.set_ttl(absl::ToInt64Seconds(kRequestIdLifetime + kLeaseAge));
  etcdserverpb::LeaseGrantResponse response;
  const grpc::Status status = client_->LeaseGrant(request, deadline, response);
  if (!status.ok()) return Error("lease", status);
  lease_ = response.id();
  lease_granted_ = absl::Now();
  return lease_;
}

void EtcdStore::ForgetLease() {
  absl::MutexLock lock(&lease_mutex_);
  lease_ = 0;
}

}  // namespace foretoken::catalog
