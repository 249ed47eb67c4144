#include "tests/bench/load/http2_connection.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <utility>

namespace foretoken::bench {
namespace {

constexpr int kWindowBytes = 1 << 24;

nghttp2_nv Header(std::string_view name, std::string_view value) {
  const auto bytes = [](std::string_view text) {
    return reinterpret_cast<uint8_t*>(const_cast<char*>(text.data()));  // NO_COPY flags: only read
  };
  return {bytes(name), bytes(value), name.size(), value.size(),
          NGHTTP2_NV_FLAG_NO_COPY_NAME | NGHTTP2_NV_FLAG_NO_COPY_VALUE};
}

int Connect(const std::string& host, int port) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  const int on = 1;
  if (inet_pton(AF_INET, host.c_str(), &address.sin_addr) != 1 ||
      connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0 ||
      setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)) != 0 || fcntl(fd, F_SETFL, O_NONBLOCK) != 0) {
    close(fd);
    return -1;
  }
  return fd;
}

}  // namespace

std::unique_ptr<Http2Connection> Http2Connection::Dial(const std::string& host, int port, const UnaryCall& call,
                                                       Done done) {
  const int fd = Connect(host, port);
  if (fd < 0) return nullptr;
  return std::unique_ptr<Http2Connection>(new Http2Connection(fd, call, std::move(done)));
}

Http2Connection::Http2Connection(int fd, const UnaryCall& call, Done done)
    : fd_(fd), call_(call), done_(std::move(done)) {
  nghttp2_session_callbacks* callbacks = nullptr;
  nghttp2_session_callbacks_new(&callbacks);
  nghttp2_session_callbacks_set_on_header_callback(callbacks, OnHeader);
  nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, OnData);
  nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, OnClose);
  nghttp2_session_client_new(&session_, callbacks, this);
  nghttp2_session_callbacks_del(callbacks);
  const std::array<nghttp2_settings_entry, 2> settings = {
      {{NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, kWindowBytes}, {NGHTTP2_SETTINGS_ENABLE_PUSH, 0}}};
  nghttp2_submit_settings(session_, NGHTTP2_FLAG_NONE, settings.data(), settings.size());
  nghttp2_session_set_local_window_size(session_, NGHTTP2_FLAG_NONE, 0, kWindowBytes);
}

Http2Connection::~Http2Connection() {
  nghttp2_session_del(session_);
  close(fd_);
}

void Http2Connection::Submit(uint64_t tag) {
  if (free_.empty()) {
    calls_.push_back(std::make_unique<Call>());
    free_.push_back(calls_.back().get());
  }
  Call* call = free_.back();
  free_.pop_back();
  *call = {.tag = tag};
  const std::array<nghttp2_nv, 6> headers = {Header(":method", "POST"),   Header(":scheme", "http"),
                                             Header(":path", call_.path), Header(":authority", "server"),
                                             Header("te", "trailers"),    Header("content-type", "application/grpc")};
  nghttp2_data_provider body{.source = {.ptr = call}, .read_callback = ReadBody};
  if (nghttp2_submit_request(session_, nullptr, headers.data(), headers.size(), &body, call) < 0) {
    free_.push_back(call);
    done_(*this, tag, false);
  }
}

ssize_t Http2Connection::ReadBody(nghttp2_session*, int32_t, uint8_t* buffer, size_t size, uint32_t* flags,
                                  nghttp2_data_source* source, void* self) {
  const std::string& body = static_cast<Http2Connection*>(self)->call_.body;
  Call* call = static_cast<Call*>(source->ptr);
  const size_t count = std::min(size, body.size() - call->sent);
  std::memcpy(buffer, body.data() + call->sent, count);
  call->sent += count;
  if (call->sent == body.size()) *flags |= NGHTTP2_DATA_FLAG_EOF;
  return static_cast<ssize_t>(count);
}

int Http2Connection::OnHeader(nghttp2_session*, const nghttp2_frame* frame, const uint8_t* name, size_t name_size,
                              const uint8_t* value, size_t value_size, uint8_t, void* self) {
  if (name_size < 11 || std::memcmp(name, "grpc-", 5) != 0) return 0;
  auto* connection = static_cast<Http2Connection*>(self);
  Call* call = connection->CallOf(frame->hd.stream_id);
  if (call == nullptr) return 0;
  const auto text = [](const uint8_t* bytes, size_t size) {
    return std::string_view(reinterpret_cast<const char*>(bytes), size);
  };
  if (text(name, name_size) == "grpc-status") call->status_ok = text(value, value_size) == "0";
  if (!call->status_ok) connection->NoteError(*call, text(name, name_size), text(value, value_size));
  return 0;
}

// The trailers of a call come one after the other, grpc-status before grpc-message.
void Http2Connection::NoteError(const Call& call, std::string_view name, std::string_view value) {
  if (name == "grpc-status" && first_error_.empty()) {
    first_failed_ = &call;
    first_error_ = "grpc-status " + std::string(value);
  } else if (name == "grpc-message" && first_failed_ == &call) {
    first_failed_ = nullptr;
    first_error_ += ": " + std::string(value);
  }
}

int Http2Connection::OnData(nghttp2_session*, uint8_t, int32_t stream, const uint8_t*, size_t size, void* self) {
  auto* connection = static_cast<Http2Connection*>(self);
  connection->received_bytes_ += size;
  Call* call = connection->CallOf(stream);
  if (call != nullptr) call->has_message = true;
  return 0;
}

int Http2Connection::OnClose(nghttp2_session*, int32_t stream, uint32_t, void* self) {
  auto* connection = static_cast<Http2Connection*>(self);
  Call* call = connection->CallOf(stream);
  if (call == nullptr) return 0;
  connection->free_.push_back(call);
  connection->done_(*connection, call->tag, call->status_ok && call->has_message);
  return 0;
}

bool Http2Connection::Flush() {
  while (true) {
    const uint8_t* data = nullptr;
    const ssize_t size = nghttp2_session_mem_send(session_, &data);
    if (size < 0) return false;
    if (size == 0) break;
    unsent_.append(reinterpret_cast<const char*>(data), static_cast<size_t>(size));
  }
  if (unsent_.empty()) return true;
  const ssize_t written = write(fd_, unsent_.data(), unsent_.size());
  if (written < 0) return errno == EAGAIN || errno == EINTR;
  unsent_.erase(0, static_cast<size_t>(written));
  return true;
}

bool Http2Connection::Read() {
  static thread_local std::array<uint8_t, 1 << 18> buffer;
  while (true) {
    const ssize_t size = read(fd_, buffer.data(), buffer.size());
    if (size == 0) return false;
    if (size < 0) return errno == EAGAIN || errno == EINTR;
    if (nghttp2_session_mem_recv(session_, buffer.data(), static_cast<size_t>(size)) < 0) return false;
    if (static_cast<size_t>(size) < buffer.size()) return true;
  }
}

}  // namespace foretoken::bench
