#include "tests/bench/load/unary_load.h"

#include <sys/epoll.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <memory>
#include <random>
#include <vector>

namespace foretoken::bench {
namespace {

constexpr uint64_t kNever = std::numeric_limits<uint64_t>::max();
constexpr double kNanosPerSecond = 1e9;

uint64_t Now() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

uint64_t Nanos(double seconds) { return static_cast<uint64_t>(seconds * kNanosPerSecond); }

class Driver {
 public:
  Driver(const UnaryOptions& options, const UnaryCall& call) : options_(options), epoll_(epoll_create1(EPOLL_CLOEXEC)) {
    prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);  // the kernel rounds waits up by 50 us otherwise
    for (int i = 0; i < options.connections; ++i) Connect(call);
  }
  ~Driver() { close(epoll_); }

  UnaryResult Run() {
    const uint64_t begin = Now();
    measure_from_ = begin + Nanos(options_.warm_up_seconds);
    end_ = measure_from_ + Nanos(options_.seconds);
    next_ = IsOpen() ? begin : kNever;
    if (!IsOpen()) {
      for (int i = 0; i < options_.in_flight; ++i) Begin(*connections_[i % connections_.size()], Now());
    }
    while (Now() < end_) Turn();
    Measure();
    return std::move(result_);
  }

 private:
  bool IsOpen() const { return options_.calls_per_second > 0; }

  void Connect(const UnaryCall& call) {
    auto done = [this](Http2Connection& connection, uint64_t tag, bool good) { Done(connection, tag, good); };
    auto connection = Http2Connection::Dial(options_.host, options_.port, call, done);
    epoll_event event{.events = EPOLLIN, .data = {.ptr = connection.get()}};
    if (connection == nullptr || epoll_ctl(epoll_, EPOLL_CTL_ADD, connection->fd(), &event) != 0) {
      std::fprintf(stderr, "foretoken-load: no connection to %s:%d: %s\n", options_.host.c_str(), options_.port,
                   std::strerror(errno));
      std::exit(1);
    }
    connections_.push_back(std::move(connection));
  }

  void Begin(Http2Connection& connection, uint64_t due) {
    ++open_;
    connection.Submit(due);
    dirty_.push_back(&connection);
  }

  void Done(Http2Connection& connection, uint64_t due, bool good) {
    const uint64_t now = Now();
    --open_;
    if (measuring_ && now < end_) {
      good ? ++result_.calls : ++result_.errors;
      if (due >= measure_from_) result_.latency.Add(now - due);
    }
    if (!IsOpen() && now < end_) Begin(connection, now);
  }

  // Begins the calls that are due, sends, and waits for answers or the next call.
  void Turn() {
    const uint64_t now = Now();
    if (!measuring_ && now >= measure_from_) StartMeasuring();
    for (; next_ <= now; next_ += Gap()) {
      Http2Connection& connection = *connections_[turn_++ % connections_.size()];
      if (!options_.hold_back || connection.MaySubmit()) {
        Begin(connection, next_);
      } else if (measuring_) {
        ++result_.held_back;
      }
    }
    for (Http2Connection* connection : dirty_) alive_ &= connection->Flush();
    dirty_.clear();
    Wait(std::min({next_, end_, measuring_ ? kNever : measure_from_}));
    if (alive_) return;
    std::fprintf(stderr, "foretoken-load: a connection ended\n");
    std::exit(1);
  }

  void Wait(uint64_t until) {
    const uint64_t now = Now();
    const uint64_t left = until > now ? until - now : 0;
    const timespec timeout = {.tv_sec = static_cast<time_t>(left / 1'000'000'000),
                              .tv_nsec = static_cast<long>(left % 1'000'000'000)};
    std::array<epoll_event, 256> events;
    const int count = epoll_pwait2(epoll_, events.data(), events.size(), &timeout, nullptr);
    for (int i = 0; i < count; ++i) {
      auto* connection = static_cast<Http2Connection*>(events[i].data.ptr);
      alive_ &= connection->Read();
      dirty_.push_back(connection);  // window updates, and closed-loop calls
    }
  }

  // Independent arrivals: exponential gaps.
  uint64_t Gap() { return Nanos(gap_(random_) / options_.calls_per_second); }

  void StartMeasuring() {
    measuring_ = true;
    measured_from_ = Now();
    before_ = ReadProcess(options_.server_pid);
    bytes_before_ = Received();
  }

  void Measure() {
    const ProcessUse after = ReadProcess(options_.server_pid);
    result_.seconds = static_cast<double>(Now() - measured_from_) / kNanosPerSecond;
    result_.server = {.user_seconds = after.user_seconds - before_.user_seconds,
                      .system_seconds = after.system_seconds - before_.system_seconds,
                      .resident_bytes = after.resident_bytes};
    result_.received_bytes = Received() - bytes_before_;
    result_.unanswered = open_;
    for (const auto& connection : connections_) {
      if (result_.first_error.empty()) result_.first_error = connection->first_error();
    }
  }

  uint64_t Received() const {
    uint64_t bytes = 0;
    for (const auto& connection : connections_) bytes += connection->received_bytes();
    return bytes;
  }

  const UnaryOptions options_;
  const int epoll_;
  std::vector<std::unique_ptr<Http2Connection>> connections_;
  std::vector<Http2Connection*> dirty_;  // have something to send
  size_t turn_ = 0;
  uint64_t open_ = 0;  // calls that have begun and not ended
  bool alive_ = true;
  bool measuring_ = false;
  uint64_t measure_from_ = 0, measured_from_ = 0, end_ = 0, next_ = kNever;
  uint64_t bytes_before_ = 0;
  ProcessUse before_;
  UnaryResult result_;
  std::mt19937_64 random_{1};
  std::exponential_distribution<double> gap_{1};
};

}  // namespace

UnaryResult RunUnary(const UnaryOptions& options, const UnaryCall& call) {
  return std::make_unique<Driver>(options, call)->Run();
}

}  // namespace foretoken::bench
