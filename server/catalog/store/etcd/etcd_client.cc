#include "server/catalog/store/etcd/etcd_client.h"

#include <algorithm>
#include <fstream>
#include <sstream>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "estimator/base/errors.h"
#include "grpcpp/create_channel.h"
#include "grpcpp/security/credentials.h"

namespace foretoken::catalog {
namespace {

// An election takes one to two seconds, in which members take calls and answer none.
constexpr absl::Duration kAttemptTimeout = absl::Milliseconds(700);
// A channel that nobody polls connects slowly, so what is to be sent waits for it; what is not connected then is away.
constexpr absl::Duration kConnectTimeout = absl::Milliseconds(300);
constexpr absl::Duration kPause = absl::Milliseconds(50);
constexpr int kReconnectMs = 100;
constexpr int kMaxReconnectMs = 500;
constexpr int kConnectAttemptMs = 2'000;
constexpr int kKeepaliveMs = 10'000;  // etcd allows one each 5 s
constexpr int kKeepaliveTimeoutMs = 3'000;

// Of a call that did not leave this process. etcd itself never answers it.
constexpr grpc::StatusCode kNotSent = grpc::StatusCode::DO_NOT_USE;

absl::StatusOr<std::string> ReadFile(const std::string& path) {
  if (path.empty()) return std::string();
  std::ifstream file(path, std::ios::binary);
  std::ostringstream contents;
  contents << file.rdbuf();
  if (file && !contents.str().empty()) return contents.str();
  return Refusal(Reason::kStoreUnavailable, "", absl::StrCat("catalog store: cannot read ", path));
}

absl::StatusOr<std::shared_ptr<grpc::ChannelCredentials>> CredentialsOf(const EtcdOptions& options) {
  if (options.ca_file.empty()) return grpc::InsecureChannelCredentials();
  const absl::StatusOr<std::string> ca = ReadFile(options.ca_file);
  if (!ca.ok()) return ca.status();
  const absl::StatusOr<std::string> certificate = ReadFile(options.cert_file);
  if (!certificate.ok()) return certificate.status();
  const absl::StatusOr<std::string> key = ReadFile(options.key_file);
  if (!key.ok()) return key.status();
  return grpc::SslCredentials({.pem_root_certs = *ca, .pem_private_key = *key, .pem_cert_chain = *certificate});
}

grpc::ChannelArguments Arguments() {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(-1);
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, kReconnectMs);
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, kConnectAttemptMs);  // how long connecting may take
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, kMaxReconnectMs);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, kKeepaliveMs);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, kKeepaliveTimeoutMs);
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  return arguments;
}

// Whether another member, or the same one a little later, may answer.
bool IsPassing(const grpc::Status& status) {
  switch (status.error_code()) {
    case grpc::StatusCode::UNAVAILABLE:
    case grpc::StatusCode::DEADLINE_EXCEEDED:
    case grpc::StatusCode::CANCELLED:
    case grpc::StatusCode::UNKNOWN:
    case grpc::StatusCode::INTERNAL:
    case grpc::StatusCode::UNAUTHENTICATED:
    case kNotSent:
      return true;
    default:
      return false;
  }
}

}  // namespace

absl::StatusOr<std::unique_ptr<EtcdClient>> EtcdClient::Make(const EtcdOptions& options) {
  const auto credentials = CredentialsOf(options);
  if (!credentials.ok()) return credentials.status();
  absl::StatusOr<std::string> password = ReadFile(options.password_file);
  if (!password.ok()) return password.status();
  password->erase(std::min(password->find_first_of("\r\n"), password->size()));
  auto client = std::unique_ptr<EtcdClient>(new EtcdClient(options, *std::move(password)));
  client->name_ = absl::StrJoin(options.endpoints, ",");
  for (const std::string& endpoint : options.endpoints) {
    Member member{.name = endpoint, .channel = grpc::CreateCustomChannel(endpoint, *credentials, Arguments())};
    member.kv = etcdserverpb::KV::NewStub(member.channel);
    member.watch = etcdserverpb::Watch::NewStub(member.channel);
    member.lease = etcdserverpb::Lease::NewStub(member.channel);
    member.maintenance = etcdserverpb::Maintenance::NewStub(member.channel);
    member.auth = etcdserverpb::Auth::NewStub(member.channel);
    client->members_.push_back(std::move(member));
  }
  return client;
}

void EtcdClient::Avoid() { preferred_.fetch_add(1, std::memory_order_relaxed); }

std::string EtcdClient::Token(Member& member, absl::Time deadline) {
  if (user_.empty()) return "";
  absl::MutexLock lock(&token_mutex_);
  if (!token_.empty()) return token_;
  grpc::ClientContext context;
  context.set_deadline(absl::ToChronoTime(deadline));
  etcdserverpb::AuthenticateRequest request;
  request.set_name(user_);
  request.set_password(password_);
  etcdserverpb::AuthenticateResponse response;
  if (member.auth->Authenticate(&context, request, &response).ok()) token_ = response.token();
  return token_;
}

void EtcdClient::ForgetToken() {
  absl::MutexLock lock(&token_mutex_);
  token_.clear();
}

grpc::Status EtcdClient::Once(Member& member, absl::Time deadline, const Attempt& attempt) {
  if (!member.channel->WaitForConnected(absl::ToChronoTime(std::min(deadline, absl::Now() + kConnectTimeout)))) {
    return grpc::Status(kNotSent, absl::StrCat("cannot connect to ", member.name));
  }
  grpc::ClientContext context;
  const absl::Time end = std::min(deadline, absl::Now() + kAttemptTimeout);
  context.set_deadline(absl::ToChronoTime(end));
  if (const std::string token = Token(member, end); !token.empty()) context.AddMetadata("token", token);
  const grpc::Status status = attempt(member, &context);
  if (status.error_code() == grpc::StatusCode::UNAUTHENTICATED) ForgetToken();  // tokens expire
  return status;
}

grpc::Status EtcdClient::OverMembers(absl::Time deadline, const Attempt& attempt) {
  for (size_t tries = 1;; ++tries) {
    const size_t index = Preferred();
    grpc::Status status = Once(members_[index], deadline, attempt);
    if (status.ok() || !IsPassing(status)) return status;
    size_t expected = index;  // unless another call has moved on already
    preferred_.compare_exchange_strong(expected, (index + 1) % members_.size(), std::memory_order_relaxed);
    const bool all_tried = tries % members_.size() == 0;
    if (absl::Now() + (all_tried ? kPause : absl::ZeroDuration()) >= deadline) return status;
    if (all_tried) absl::SleepFor(kPause);
  }
}

grpc::Status EtcdClient::Range(const etcdserverpb::RangeRequest& request, absl::Time deadline,
                               etcdserverpb::RangeResponse& response) {
  return OverMembers(deadline, [&](Member& member, grpc::ClientContext* context) {
    return member.kv->Range(context, request, &response);
  });
}

grpc::Status EtcdClient::ReadTxn(const etcdserverpb::TxnRequest& request, absl::Time deadline,
                                 etcdserverpb::TxnResponse& response) {
  return OverMembers(deadline, [&](Member& member, grpc::ClientContext* context) {
    return member.kv->Txn(context, request, &response);
  });
}

grpc::Status EtcdClient::LeaseGrant(const etcdserverpb::LeaseGrantRequest& request, absl::Time deadline,
                                    etcdserverpb::LeaseGrantResponse& response) {
  return OverMembers(deadline, [&](Member& member, grpc::ClientContext* context) {
    return member.lease->LeaseGrant(context, request, &response);
  });
}

grpc::Status EtcdClient::Status(absl::Time deadline, etcdserverpb::StatusResponse& response) {
  return OverMembers(deadline, [&](Member& member, grpc::ClientContext* context) {
    return member.maintenance->Status(context, {}, &response);
  });
}

grpc::Status EtcdClient::WriteTxn(const etcdserverpb::TxnRequest& request, absl::Time deadline,
                                  etcdserverpb::TxnResponse& response) {
  return Once(members_[Preferred()], deadline, [&](Member& member, grpc::ClientContext* context) {
    return member.kv->Txn(context, request, &response);
  });
}

bool EtcdClient::MayHaveHappened(const grpc::Status& status) { return IsPassing(status) && !NeverTaken(status); }

bool EtcdClient::NeverTaken(const grpc::Status& status) {
  return status.error_code() == grpc::StatusCode::UNAUTHENTICATED || status.error_code() == kNotSent;
}

std::unique_ptr<EtcdClient::WatchStream> EtcdClient::Watch(grpc::ClientContext& context) {
  Member& member = members_[Preferred()];
  if (!member.channel->WaitForConnected(absl::ToChronoTime(absl::Now() + kConnectTimeout))) return nullptr;
  if (const std::string token = Token(member, absl::Now() + kAttemptTimeout); !token.empty()) {
    context.AddMetadata("token", token);
  }
  context.AddMetadata("hasleader", "true");  // a member that lost the others ends the stream, rather than be silent
  return member.watch->Watch(&context);
}

}  // namespace foretoken::catalog
