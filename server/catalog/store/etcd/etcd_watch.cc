#include "server/catalog/store/etcd/etcd_watch.h"

#include <algorithm>
#include <utility>

namespace foretoken::catalog {
namespace {

// What is kept for callers that come late.
constexpr size_t kMaxChanges = 1000;
constexpr size_t kMaxBytes = size_t{16} << 20;
// Between one stream and the next.
constexpr absl::Duration kPause = absl::Milliseconds(100);

}  // namespace

EtcdWatch::EtcdWatch(EtcdClient& client, EtcdKeys keys, std::function<void()> changed)
    : client_(client), keys_(std::move(keys)), changed_(std::move(changed)), thread_([this] { Run(); }) {}

EtcdWatch::~EtcdWatch() {
  {
    absl::MutexLock lock(&mutex_);
    stop_ = true;
    if (context_ != nullptr) context_->TryCancel();
  }
  thread_.join();
}

void EtcdWatch::KnownUpTo(int64_t known, int64_t read, const std::string& store_id) {
  absl::MutexLock lock(&mutex_);
  const bool as_far = last_ >= known && since_ <= known && next_ <= read + 1;
  if (known_ && !lost_ && as_far && store_id_ == store_id) return;
  known_ = true;
  lost_ = false;
  ++round_;
  next_ = read + 1;
  since_ = last_ = known;
  store_id_ = store_id;
  changes_.clear();
  bytes_ = 0;
  if (context_ != nullptr) context_->TryCancel();
}

int64_t EtcdWatch::Last() {
  absl::MutexLock lock(&mutex_);
  return lost_ ? 0 : last_;
}

std::optional<StoreChanges> EtcdWatch::Changes(int64_t after, int64_t reach, absl::Time deadline) {
  absl::MutexLock lock(&mutex_);
  const auto told = [&]() ABSL_SHARED_LOCKS_REQUIRED(mutex_) { return stop_ || lost_ || last_ >= reach; };
  mutex_.AwaitWithDeadline(absl::Condition(&told), deadline);
  if (!known_ || lost_ || last_ < reach || after < since_) return std::nullopt;
  StoreChanges changes{.entries = {}, .revision = last_};
  for (const StoredEntry& entry : changes_) {
    if (entry.revision > after) changes.entries.push_back(entry);
  }
  return changes;
}

void EtcdWatch::Run() {
  for (;;) {
    int64_t start = 0;
    int64_t round = 0;
    {
      absl::MutexLock lock(&mutex_);
      mutex_.Await(absl::Condition(this, &EtcdWatch::HasWork));
      if (stop_) return;
      start = next_;
      round = round_;
    }
    ReadStream(start, round);
    absl::MutexLock lock(&mutex_);
    if (round != round_) continue;  // it was ended on purpose
    client_.Avoid();
    mutex_.AwaitWithTimeout(absl::Condition(&stop_), kPause);
  }
}

void EtcdWatch::ReadStream(int64_t start, int64_t round) {
  grpc::ClientContext context;
  const std::unique_ptr<EtcdClient::WatchStream> stream = client_.Watch(context);
  if (stream == nullptr) return;
  {
    absl::MutexLock lock(&mutex_);
    context_ = &context;
    if (stop_ || round != round_) context.TryCancel();
  }
  etcdserverpb::WatchRequest request;
  etcdserverpb::WatchCreateRequest& create = *request.mutable_create_request();
  create.set_key(keys_.Entries());
  create.set_range_end(RangeEnd(keys_.Entries()));
  create.set_start_revision(start);
  create.set_progress_notify(true);
  etcdserverpb::WatchResponse response;
  bool good = stream->Write(request);
  while (good && stream->Read(&response)) good = Take(response, round);
  context.TryCancel();
  stream->Finish();
  absl::MutexLock lock(&mutex_);
  context_ = nullptr;
}

bool EtcdWatch::Take(const etcdserverpb::WatchResponse& response, int64_t round) {
  {
    absl::MutexLock lock(&mutex_);
    if (round != round_) return false;
    if (response.compact_revision() > 0) lost_ = true;
    for (const mvccpb::Event& event : response.events()) {
      const bool gone = event.type() == mvccpb::Event::DELETE;
      if (event.kv().mod_revision() < next_) continue;  // told before
      Append(gone ? keys_.Deleted(event.kv()) : keys_.Decode(event.kv(), store_id_));
    }
    if (!response.events().empty()) {
      next_ = std::max(next_, response.events(response.events_size() - 1).kv().mod_revision() + 1);
    } else if (!response.created() && !response.canceled()) {
      next_ = std::max(next_, response.header().revision() + 1);  // a sign of life: nothing happened up to here
    }
  }
  if (!response.events().empty() || response.canceled()) changed_();
  return !response.canceled();
}

void EtcdWatch::Append(StoredEntry entry) {
  last_ = std::max(last_, entry.revision);
  bytes_ += entry.value ? entry.value->size() : 0;
  changes_.push_back(std::move(entry));
  while (changes_.size() > kMaxChanges || (bytes_ > kMaxBytes && changes_.size() > 1)) {
    since_ = std::max(since_, changes_.front().revision);
    bytes_ -= changes_.front().value ? changes_.front().value->size() : 0;
    changes_.pop_front();
  }
}

}  // namespace foretoken::catalog
