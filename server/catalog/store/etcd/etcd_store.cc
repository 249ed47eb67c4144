// Opening and reading; etcd_write.cc writes.
#include "server/catalog/store/etcd/etcd_store.h"

#include <algorithm>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "estimator/base/errors.h"
#include "server/catalog/store/store_fault.h"

namespace foretoken::catalog {
namespace {

using etcdserverpb::RangeRequest;
using etcdserverpb::RangeResponse;

constexpr absl::Duration kReadTimeout = absl::Seconds(2);
constexpr absl::Duration kWholeTimeout = absl::Seconds(5);
constexpr absl::Duration kOpenTimeout = absl::Seconds(5);
// Keys of a page: etcd bounds a reply by keys alone, and a reply has to come within one attempt of a call. A hundred of
// the largest entries are 26 MB. Larger values, as others may put there, make the next page smaller.
constexpr int64_t kFirstPage = 8;
constexpr int64_t kMaxPage = 100;
constexpr int64_t kPageBytes = int64_t{8} << 20;
// "foretoken 1 8f3a01c2": the value of the key that describes the store.
constexpr char kLayout[] = "foretoken";
constexpr int kLayoutVersion = 1;

// Whether "3.4.23" is 3.4 or later of version 3.
bool IsKnownVersion(const std::string& version) {
  const std::vector<std::string> parts = absl::StrSplit(version, '.');
  int major = 0, minor = 0;
  return parts.size() >= 2 && absl::SimpleAtoi(parts[0], &major) && absl::SimpleAtoi(parts[1], &minor) && major == 3 &&
         minor >= 4;
}

int64_t NextPage(const RangeResponse& page) {
  const auto bytes = static_cast<int64_t>(page.ByteSizeLong());
  return std::clamp<int64_t>(kPageBytes * page.kvs_size() / std::max<int64_t>(bytes, 1), 1, kMaxPage);
}

absl::StatusOr<std::string> ReadStoreId(const std::string& value) {
  const std::vector<std::string> parts = absl::StrSplit(value, ' ');
  int version = 0;
  if (parts.size() == 3 && parts[0] == kLayout && absl::SimpleAtoi(parts[1], &version) && version <= kLayoutVersion) {
    return parts[2];
  }
  return Refusal(Reason::kStoreUnavailable, "",
                 absl::StrCat("catalog store: the prefix in etcd is of a newer or another program: \"",
                              value.substr(0, 64), "\"; this one knows ", kLayout, " ", kLayoutVersion));
}

}  // namespace

absl::Status EtcdStore::Error(std::string_view doing, const grpc::Status& status) const {
  const std::string why = status.error_message().empty() ? "no answer in time" : status.error_message();
  // What gRPC says of a connection names its address; what etcd says of a request does not.
  const bool answered = status.error_code() == grpc::StatusCode::PERMISSION_DENIED ||
                        status.error_code() == grpc::StatusCode::RESOURCE_EXHAUSTED ||
                        status.error_code() == grpc::StatusCode::FAILED_PRECONDITION ||
                        status.error_code() == grpc::StatusCode::INVALID_ARGUMENT;
  return StoreFault(absl::StrCat("etcd: ", std::string(doing), ": ", answered ? why : "no answer"),
                    absl::StrCat("etcd:", client_->name(), answered ? "" : ": ", answered ? "" : why));
}

absl::StatusOr<std::unique_ptr<EtcdStore>> EtcdStore::Open(const EtcdOptions& options, const StoreLimits& limits) {
  absl::StatusOr<std::unique_ptr<EtcdClient>> client = EtcdClient::Make(options);
  if (!client.ok()) return client.status();
  auto store = std::unique_ptr<EtcdStore>(new EtcdStore(*std::move(client), options, limits));
  if (absl::Status status = store->Prepare(); !status.ok()) return status;
  return store;
}

absl::Status EtcdStore::Prepare() {
  const absl::Time deadline = absl::Now() + kOpenTimeout;
  etcdserverpb::StatusResponse member;
  if (grpc::Status status = client_->Status(deadline, member); !status.ok()) return Error("status", status);
  if (!IsKnownVersion(member.version())) {
    return Refusal(Reason::kStoreUnavailable, "",
                   absl::StrCat("catalog store: etcd has version ", member.version(), "; allowed 3.4 or later of 3"));
  }
  RangeRequest request;
  request.set_key(keys_.Store());
  RangeResponse response;
  if (grpc::Status status = client_->Range(request, deadline, response); !status.ok()) return Error("open", status);
  return StoreId(response, deadline).status();
}

absl::StatusOr<std::string> EtcdStore::StoreId(const RangeResponse& read, absl::Time deadline) {
  if (read.kvs_size() > 0) return ReadStoreId(read.kvs(0).value());
  etcdserverpb::TxnRequest txn;
  etcdserverpb::Compare& none = *txn.add_compare();
  none.set_target(etcdserverpb::Compare::CREATE);
  none.set_key(keys_.Store());
  none.set_create_revision(0);
  etcdserverpb::PutRequest& put = *txn.add_success()->mutable_request_put();
  put.set_key(keys_.Store());
  put.set_value(absl::StrCat(kLayout, " ", kLayoutVersion, " ", RandomStoreId()));
  txn.add_failure()->mutable_request_range()->set_key(keys_.Store());  // another replica made it
  etcdserverpb::TxnResponse response;
  // Safe to repeat: the second time finds what the first one made.
  if (grpc::Status status = client_->ReadTxn(txn, deadline, response); !status.ok()) return Error("create", status);
  if (response.succeeded()) return ReadStoreId(put.value());
  const RangeResponse& others = response.responses(0).response_range();
  return others.kvs_size() > 0 ? ReadStoreId(others.kvs(0).value()) : std::string();
}

void EtcdStore::OnChange(std::function<void()> changed) {
  watch_ = std::make_unique<EtcdWatch>(*client_, keys_, std::move(changed));
}

absl::StatusOr<int64_t> EtcdStore::ReadRevision(absl::Time deadline) {
  RangeRequest request;
  request.set_key(keys_.Head());
  request.set_keys_only(true);
  RangeResponse response;
  const grpc::Status status = client_->Range(request, std::min(deadline, absl::Now() + kWriteTimeout), response);
  if (!status.ok()) return Error("read", status);
  // What was put past the store, by hand, the watch alone can tell.
  return std::max(response.kvs_size() == 0 ? 0 : response.kvs(0).mod_revision(),
                  watch_ == nullptr ? 0 : watch_->Last());
}

// The first page comes with the head and the store's id in one transaction, the others at the revision of that one.
absl::StatusOr<StoreContents> EtcdStore::ReadAll() {
  const absl::Time deadline = absl::Now() + kWholeTimeout;
  etcdserverpb::TxnRequest txn;
  txn.add_success()->mutable_request_range()->set_key(keys_.Store());
  txn.add_success()->mutable_request_range()->set_key(keys_.Head());
  RangeRequest& first = *txn.add_success()->mutable_request_range();
  first.set_key(keys_.Entries());
  first.set_range_end(RangeEnd(keys_.Entries()));
  first.set_limit(kFirstPage);
  etcdserverpb::TxnResponse response;
  if (grpc::Status status = client_->ReadTxn(txn, deadline, response); !status.ok()) return Error("read", status);
  const absl::StatusOr<std::string> store_id = StoreId(response.responses(0).response_range(), deadline);
  if (!store_id.ok()) return store_id.status();
  const RangeResponse& head = response.responses(1).response_range();
  const RangeResponse& page = response.responses(2).response_range();
  StoreContents contents{.entries = {}, .revision = head.kvs_size() == 0 ? 0 : head.kvs(0).mod_revision()};
  for (const mvccpb::KeyValue& kv : page.kvs()) contents.entries.push_back(keys_.Decode(kv, *store_id));
  const absl::Status rest =
      ReadPages(keys_.Entries(), response.header().revision(), &page, deadline,
                [&](const mvccpb::KeyValue& kv) { contents.entries.push_back(keys_.Decode(kv, *store_id)); });
  if (!rest.ok()) return rest;
  for (const StoredEntry& entry : contents.entries) contents.revision = std::max(contents.revision, entry.revision);
  if (watch_ != nullptr) watch_->KnownUpTo(contents.revision, response.header().revision(), *store_id);
  return contents;
}

absl::Status EtcdStore::ReadPages(const std::string& prefix, int64_t etcd_revision, const RangeResponse* first,
                                  absl::Time deadline, const std::function<void(const mvccpb::KeyValue&)>& take) {
  RangeRequest request;
  request.set_key(prefix);
  request.set_range_end(RangeEnd(prefix));
  request.set_limit(kFirstPage);
  request.set_revision(etcd_revision);
  RangeResponse page;
  if (first != nullptr) {
    if (!first->more() || first->kvs_size() == 0) return absl::OkStatus();
    request.set_key(first->kvs(first->kvs_size() - 1).key() + '\0');
    request.set_limit(NextPage(*first));
  }
  for (bool more = true; more;) {
    if (grpc::Status status = client_->Range(request, deadline, page); !status.ok()) return Error("read", status);
    for (const mvccpb::KeyValue& kv : page.kvs()) take(kv);
    more = page.more() && page.kvs_size() > 0;
    if (!more) break;
    request.set_key(page.kvs(page.kvs_size() - 1).key() + '\0');
    request.set_limit(NextPage(page));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::optional<StoreChanges>> EtcdStore::ReadChanges(int64_t after, int64_t reach, absl::Time deadline) {
  if (watch_ == nullptr) return std::nullopt;
  return watch_->Changes(after, reach, deadline);
}

absl::StatusOr<std::vector<StoredRevision>> EtcdStore::ReadHistory(EntryKind kind, const std::string& id) {
  etcdserverpb::TxnRequest txn;
  txn.add_success()->mutable_request_range()->set_key(keys_.Store());
  RangeRequest& range = *txn.add_success()->mutable_request_range();
  range.set_key(keys_.HistoryBegin(kind, id));
  range.set_range_end(keys_.HistoryEnd(kind, id));
  range.set_sort_order(RangeRequest::DESCEND);
  etcdserverpb::TxnResponse response;
  const absl::Time deadline = absl::Now() + kReadTimeout;
  if (grpc::Status status = client_->ReadTxn(txn, deadline, response); !status.ok()) return Error("read", status);
  const absl::StatusOr<std::string> store_id = StoreId(response.responses(0).response_range(), deadline);
  if (!store_id.ok()) return store_id.status();
  std::vector<StoredRevision> history;
  for (const mvccpb::KeyValue& kv : response.responses(1).response_range().kvs()) {
    history.push_back(keys_.DecodeRevision(kind, id, kv, *store_id));
  }
  return history;
}

}  // namespace foretoken::catalog
