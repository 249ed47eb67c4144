// Splits a text/event-stream, as it arrives in pieces, into the data of its events.
#ifndef FORETOKEN_CLIENT_CLI_PROFILE_EVENT_STREAM_H_
#define FORETOKEN_CLIENT_CLI_PROFILE_EVENT_STREAM_H_

#include <functional>
#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace foretoken::cli {

// Lines end in "\n" or "\r\n"; "data:" lines of one event are joined by "\n"; comments and other fields are skipped.
// https://html.spec.whatwg.org/multipage/server-sent-events.html
class EventStream {
 public:
  // A server that never ends its event is cut here. Events of a completion are about 300 bytes.
  static constexpr size_t kMaxEventBytes = 1 << 20;

  using OnEvent = std::function<absl::Status(std::string_view data)>;

  // Adds bytes and calls `on_event` for each event that they complete. Errors: RESOURCE_EXHAUSTED: an event of more
  // than kMaxEventBytes; the first error of `on_event`, after which no more is read.
  absl::Status Add(std::string_view bytes, const OnEvent& on_event);

  // At the end of the body. Errors: DATA_LOSS: it ends within an event.
  absl::Status Finish() const;

 private:
  absl::Status EndLine(const OnEvent& on_event);

  std::string line_;
  std::string data_;
  bool has_data_ = false;
};

}  // namespace foretoken::cli

#endif  // FORETOKEN_CLIENT_CLI_PROFILE_EVENT_STREAM_H_
