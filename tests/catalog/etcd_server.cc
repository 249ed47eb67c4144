#include "tests/catalog/etcd_server.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <grpcpp/create_channel.h>
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
#include "server/catalog/etcd/etcd_client.h"

namespace foretoken::catalog {
namespace {

constexpr absl::Duration kStartTimeout = absl::Seconds(30);

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
  const std::vector<std::string> arguments = {"etcd", "--name=one", absl::StrCat("--data-dir=", folder),
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

}  // namespace

EtcdServer::EtcdServer() {
  address_ = absl::StrCat("127.0.0.1:", FreePort());
  pid_ = Spawn(folder_.File("etcd"), address_, absl::StrCat("127.0.0.1:", FreePort()));
  if (Answers(address_, absl::Now() + kStartTimeout)) return;
  std::fprintf(stderr, "etcd did not start; it is in Debian's package etcd-server\n");
  std::abort();
}

EtcdServer::~EtcdServer() {
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
}

void EtcdServer::Put(const std::string& key, const std::string& value) const {
  const auto client = *EtcdClient::Make({.endpoints = {address_}});
  etcdserverpb::TxnRequest txn;
  txn.add_success()->mutable_request_put()->set_key(key);
  txn.mutable_success(0)->mutable_request_put()->set_value(value);
  etcdserverpb::TxnResponse response;
  if (!client->WriteTxn(txn, absl::Now() + kStartTimeout, response).ok()) std::abort();
}

void EtcdServer::Compact() const {
  const auto client = *EtcdClient::Make({.endpoints = {address_}});
  etcdserverpb::RangeRequest range;
  range.set_key("x");
  etcdserverpb::RangeResponse response;
  if (!client->Range(range, absl::Now() + kStartTimeout, response).ok()) std::abort();
  etcdserverpb::CompactionRequest request;
  request.set_revision(response.header().revision());
  request.set_physical(true);
  const auto stub = etcdserverpb::KV::NewStub(grpc::CreateChannel(address_, grpc::InsecureChannelCredentials()));
  grpc::ClientContext context;
  etcdserverpb::CompactionResponse compacted;
  if (!stub->Compact(&context, request, &compacted).ok()) std::abort();
}

}  // namespace foretoken::catalog
