#include "tests/catalog/etcd_server.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <grpcpp/create_channel.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "absl/random/random.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "server/catalog/store/etcd/etcd_client.h"

namespace foretoken::catalog {
namespace {

constexpr absl::Duration kCallTimeout = absl::Seconds(30);
constexpr absl::Duration kStartTimeout = absl::Seconds(20);
constexpr int kStarts = 3;  // another process may take a free port first

// A free port below those that the system gives to clients of other tests.
int FreePort() {
  absl::BitGen random;
  for (;;) {
    const auto port = static_cast<uint16_t>(absl::Uniform(random, 15000, 32000));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(port);
    const int fd = socket(AF_INET, SOCK_STREAM, 0);
    const bool free = bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0;
    close(fd);
    if (free) return port;
  }
}

pid_t Spawn(const std::string& folder, const std::string& client, const std::string& peer) {
  const std::vector<std::string> arguments = {"etcd",
                                              "--name=one",
                                              absl::StrCat("--data-dir=", folder),
                                              absl::StrCat("--listen-client-urls=http://", client),
                                              absl::StrCat("--advertise-client-urls=http://", client),
                                              absl::StrCat("--listen-peer-urls=http://", peer),
                                              absl::StrCat("--initial-advertise-peer-urls=http://", peer),
                                              absl::StrCat("--initial-cluster=one=http://", peer),
                                              "--unsafe-no-fsync"};
  const pid_t pid = fork();
  if (pid != 0) return pid;
  std::vector<char*> argv;
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  prctl(PR_SET_PDEATHSIG, SIGKILL);  // whatever becomes of the test
  const int null = open("/dev/null", O_WRONLY);
  dup2(null, STDOUT_FILENO);
  dup2(null, STDERR_FILENO);
  execvp("etcd", argv.data());
  _exit(127);
}

bool Answers(const std::string& address, absl::Time deadline) {
  const auto client = *EtcdClient::Make({.endpoints = {address}});
  etcdserverpb::RangeRequest request;
  request.set_key("x");
  etcdserverpb::RangeResponse response;
  return client->Range(request, deadline, response).ok();
}

void End(pid_t pid) {
  kill(pid, SIGKILL);
  waitpid(pid, nullptr, 0);
}

// Until it answers; no: it ended, or took too long.
bool Started(pid_t pid, const std::string& address) {
  const absl::Time deadline = absl::Now() + kStartTimeout;
  while (absl::Now() < deadline && waitpid(pid, nullptr, WNOHANG) == 0) {
    if (Answers(address, absl::Now() + absl::Seconds(2))) return true;
  }
  return false;
}

}  // namespace

EtcdServer::EtcdServer() {
  for (int start = 0; start < kStarts; ++start) {
    address_ = absl::StrCat("127.0.0.1:", FreePort());
    pid_ = Spawn(folder_.File(absl::StrCat("etcd", start)), address_, absl::StrCat("127.0.0.1:", FreePort()));
    if (Started(pid_, address_)) return;
    if (waitpid(pid_, nullptr, WNOHANG) == 0) End(pid_);  // else it ended by itself
  }
  std::fprintf(stderr, "etcd did not start; it is in Debian's package etcd-server\n");
  std::abort();
}

EtcdServer::~EtcdServer() { End(pid_); }

void EtcdServer::Put(const std::string& key, const std::string& value) const {
  const auto client = *EtcdClient::Make({.endpoints = {address_}});
  etcdserverpb::TxnRequest txn;
  txn.add_success()->mutable_request_put()->set_key(key);
  txn.mutable_success(0)->mutable_request_put()->set_value(value);
  etcdserverpb::TxnResponse response;
  if (!client->WriteTxn(txn, absl::Now() + kCallTimeout, response).ok()) std::abort();
}

void EtcdServer::Compact() const {
  const auto client = *EtcdClient::Make({.endpoints = {address_}});
  etcdserverpb::RangeRequest range;
  range.set_key("x");
  etcdserverpb::RangeResponse response;
  if (!client->Range(range, absl::Now() + kCallTimeout, response).ok()) std::abort();
  etcdserverpb::CompactionRequest request;
  request.set_revision(response.header().revision());
  request.set_physical(true);
  const auto stub = etcdserverpb::KV::NewStub(grpc::CreateChannel(address_, grpc::InsecureChannelCredentials()));
  grpc::ClientContext context;
  etcdserverpb::CompactionResponse compacted;
  if (!stub->Compact(&context, request, &compacted).ok()) std::abort();
}

}  // namespace foretoken::catalog
