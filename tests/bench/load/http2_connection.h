// One HTTP/2 connection that sends the same gRPC call again and again: the bytes are made once, so that the driver
// costs a fraction of what it measures. A call counts as good only with grpc-status 0 and a message.
#ifndef FORETOKEN_TESTS_BENCH_LOAD_HTTP2_CONNECTION_H_
#define FORETOKEN_TESTS_BENCH_LOAD_HTTP2_CONNECTION_H_

#include <nghttp2/nghttp2.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace foretoken::bench {

// What is sent: ":path" and the length-prefixed message.
struct UnaryCall {
  std::string path;
  std::string body;
};

// Not thread-safe.
class Http2Connection {
 public:
  // Called at the end of each call with the number that Submit was given.
  using Done = std::function<void(Http2Connection& connection, uint64_t tag, bool good)>;

  // Null where the server cannot be reached. `call` outlives the connection.
  static std::unique_ptr<Http2Connection> Dial(const std::string& host, int port, const UnaryCall& call, Done done);
  ~Http2Connection();

  int fd() const { return fd_; }
  uint64_t received_bytes() const { return received_bytes_; }
  // What the first call that failed was answered, "grpc-status 5: unknown model"; empty: nothing, or none failed.
  const std::string& first_error() const { return first_error_; }

  // Whether the server allows another stream now.
  bool MaySubmit() const {
    return calls_.size() - free_.size() <
           nghttp2_session_get_remote_settings(session_, NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS);
  }
  // Queues a call; Flush sends what is queued.
  void Submit(uint64_t tag);
  // Both false once the connection has ended.
  bool Flush();
  bool Read();

 private:
  struct Call {
    uint64_t tag = 0;
    size_t sent = 0;  // of the body
    bool status_ok = false;
    bool has_message = false;
  };

  Http2Connection(int fd, const UnaryCall& call, Done done);
  static int OnHeader(nghttp2_session*, const nghttp2_frame*, const uint8_t* name, size_t name_size,
                      const uint8_t* value, size_t value_size, uint8_t, void* self);
  static int OnData(nghttp2_session*, uint8_t, int32_t stream, const uint8_t*, size_t size, void* self);
  static int OnClose(nghttp2_session*, int32_t stream, uint32_t error, void* self);
  static ssize_t ReadBody(nghttp2_session*, int32_t stream, uint8_t* buffer, size_t size, uint32_t* flags,
                          nghttp2_data_source* source, void* self);
  void NoteError(const Call& call, std::string_view name, std::string_view value);
  Call* CallOf(int32_t stream) { return static_cast<Call*>(nghttp2_session_get_stream_user_data(session_, stream)); }

  const int fd_;
  const UnaryCall& call_;
  const Done done_;
  nghttp2_session* session_ = nullptr;
  std::vector<std::unique_ptr<Call>> calls_;  // all that were ever needed
  std::vector<Call*> free_;
  std::string unsent_;
  std::string first_error_;
  const Call* first_failed_ = nullptr;  // while its trailers come
  uint64_t received_bytes_ = 0;
};

}  // namespace foretoken::bench

#endif  // FORETOKEN_TESTS_BENCH_LOAD_HTTP2_CONNECTION_H_
