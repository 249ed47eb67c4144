#include "server/guard/listener.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/time/clock.h"
#include "tests/catalog/temporary_folder.h"

namespace foretoken::guard {
namespace {

using testing::HasSubstr;

// Connects from `source`, an address of this machine; -1: refused.
int ConnectFrom(const char* source, const std::string& address) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in name = {};
  name.sin_family = AF_INET;
  inet_pton(AF_INET, source, &name.sin_addr);
  bind(fd, reinterpret_cast<sockaddr*>(&name), sizeof(name));
  int port = 0;
  EXPECT_TRUE(absl::SimpleAtoi(address.substr(address.rfind(':') + 1), &port));
  name.sin_port = htons(static_cast<uint16_t>(port));
  inet_pton(AF_INET, "127.0.0.1", &name.sin_addr);
  if (connect(fd, reinterpret_cast<sockaddr*>(&name), sizeof(name)) == 0) return fd;
  close(fd);
  return -1;
}

// Whether the other end closed it, waiting for up to five seconds for that.
bool IsClosed(int fd, int seconds = 5) {
  const timeval wait = {.tv_sec = seconds, .tv_usec = seconds == 0 ? 100'000 : 0};
  setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait));
  char byte = 0;
  return recv(fd, &byte, 1, 0) <= 0 && errno != EAGAIN;
}

class ListenerTest : public testing::Test {
 protected:
  void Listen(int most, int most_per_address) {
    listener_ = *Listener::Open(
        {.address = "127.0.0.1:0", .max_connections = most, .max_connections_per_address = most_per_address});
    listener_->Start([this](int, int fd, bool) {
      absl::MutexLock lock(&mutex_);
      accepted_.push_back(fd);
    });
  }

  int Connect(const char* source = "127.0.0.1") { return opened_.emplace_back(ConnectFrom(source, address())); }

  void WaitFor(size_t accepted) {
    absl::MutexLock lock(&mutex_);
    const auto there = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return accepted_.size() >= accepted; };
    ASSERT_TRUE(mutex_.AwaitWithTimeout(absl::Condition(&there), absl::Seconds(10)));
  }

  void CloseAccepted() {
    absl::MutexLock lock(&mutex_);
    for (const int fd : accepted_) close(fd);
    accepted_.clear();
  }

  const std::string& address() const { return listener_->address(); }

  ~ListenerTest() override {
    CloseAccepted();
    for (const int fd : opened_) close(fd);
  }

  absl::Mutex mutex_;
  std::vector<int> accepted_ ABSL_GUARDED_BY(mutex_);
  std::vector<int> opened_;
  std::unique_ptr<Listener> listener_;
};

TEST_F(ListenerTest, OneAddressHasItsShare) {
  Listen(/*most=*/10, /*most_per_address=*/2);
  Connect();
  Connect();
  WaitFor(2);
  EXPECT_TRUE(IsClosed(Connect()));
  Connect("127.0.0.2");
  WaitFor(3);
  EXPECT_EQ(listener_->refused().address, 1u);
  EXPECT_EQ(listener_->connections(), 3);
}

TEST_F(ListenerTest, AllAddressesTogetherHaveALimit) {
  Listen(/*most=*/2, /*most_per_address=*/1);
  Connect("127.0.0.2");
  Connect("127.0.0.3");
  WaitFor(2);
  EXPECT_TRUE(IsClosed(Connect("127.0.0.4")));
  EXPECT_EQ(listener_->refused().all, 1u);
}

// Connections that ended make room, though their ends were told to nobody.
TEST_F(ListenerTest, EndedConnectionsMakeRoom) {
  Listen(/*most=*/4, /*most_per_address=*/2);
  for (int round = 0; round < 20; ++round) {
    Connect();
    Connect();
    WaitFor(2);
    CloseAccepted();
    absl::SleepFor(absl::Milliseconds(11));  // ended ones are looked for every 10 ms at most
  }
  EXPECT_EQ(listener_->refused().address + listener_->refused().all, 0u);
}

TEST_F(ListenerTest, NothingIsAcceptedWhileMemoryIsShort) {
  Listen(10, 10);
  listener_->SetShort(true);
  EXPECT_TRUE(IsClosed(Connect()));
  listener_->SetShort(false);
  Connect();
  WaitFor(1);
  EXPECT_EQ(listener_->refused().memory, 1u);
}

// Connections without a descriptor for them are refused, and later ones are accepted again.
TEST_F(ListenerTest, OutlivesALackOfDescriptors) {
  Listen(1000, 1000);
  rlimit limit;
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
  const int connecting = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const rlimit few = {.rlim_cur = static_cast<rlim_t>(connecting) + 1, .rlim_max = limit.rlim_max};
  close(connecting);
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
  const int refused = Connect();  // takes the last descriptor
  ASSERT_GE(refused, 0);
  EXPECT_TRUE(IsClosed(refused));
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
  Connect();
  WaitFor(1);
  EXPECT_GE(listener_->refused().descriptors, 1u);
}

TEST_F(ListenerTest, TheConnectionThatSendsMostIsCut) {
  Listen(10, 10);
  const int quiet = Connect();
  const int loud = Connect("127.0.0.2");
  WaitFor(2);
  listener_->Measure();
  const std::vector<char> data(100'000);
  ASSERT_EQ(send(loud, data.data(), data.size(), 0), static_cast<ssize_t>(data.size()));
  ASSERT_EQ(send(quiet, data.data(), 1000, 0), 1000);
  EXPECT_EQ(listener_->CutHeaviest(/*least=*/1 << 20), "");
  EXPECT_EQ(listener_->CutHeaviest(/*least=*/50'000), "127.0.0.2");
  EXPECT_TRUE(IsClosed(loud));
  EXPECT_FALSE(IsClosed(quiet, 0));
}

TEST(ListenTest, AnAddressIsTakenOnce) {
  const auto first = Listener::Open({.address = "127.0.0.1:0"});
  ASSERT_TRUE(first.ok());
  const auto second = Listener::Open({.address = (*first)->address()});
  EXPECT_EQ(second.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(second.status().message()), HasSubstr("Address already in use"));
}

TEST(ListenTest, AHostMayHaveSeveralAddresses) {
  const auto both = Listener::Open({.address = "[::]:0"});
  ASSERT_TRUE(both.ok()) << both.status();
  EXPECT_TRUE(absl::StartsWith((*both)->address(), "[::]:"));
  const int fd = ConnectFrom("127.0.0.1", (*both)->address());
  EXPECT_GE(fd, 0);
  close(fd);
}

// The file of a server that was killed is in nobody's way; that of one that serves is. It goes with its server.
TEST(ListenTest, ASocketFileIsReplacedUnlessSomebodyListens) {
  catalog::TemporaryFolder folder;
  const std::string path = folder.File("socket");
  sockaddr_un name = {};
  name.sun_family = AF_UNIX;
  std::strcpy(name.sun_path, path.c_str());
  const int left = socket(AF_UNIX, SOCK_STREAM, 0);
  ASSERT_EQ(bind(left, reinterpret_cast<sockaddr*>(&name), sizeof(name)), 0);
  close(left);
  auto first = Listener::Open({.address = "unix:" + path});
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_FALSE(Listener::Open({.address = "unix:" + path}).ok());
  first->reset();
  EXPECT_NE(access(path.c_str(), F_OK), 0);
}

}  // namespace
}  // namespace foretoken::guard
