#include "tests/profile/fake_stream.h"

#include <algorithm>
#include <chrono>

#include "absl/strings/str_cat.h"

namespace foretoken::fake {
namespace {

constexpr size_t kHugeEvent = 10'000'000;
constexpr size_t kEndlessEvent = size_t{1} << 28;

std::string Words(int64_t tokens) {
  std::string text;
  for (int64_t i = 0; i < tokens; ++i) text += " w";
  return text;
}

// "data: {...}\n\n" of one event with this text.
std::string TokenEvent(const FakeAnswer& answer, const std::string& text, bool last) {
  const std::string reason = last ? absl::StrCat("\"", answer.FinishReason(), "\"") : "null";
  if (answer.chat) {
    return absl::StrCat("data: ", answer.Head(true), "\"choices\":[{\"index\":0,\"delta\":{\"content\":\"", text,
                        "\"},\"logprobs\":null,\"finish_reason\":", reason, last ? ",\"stop_reason\":null" : "",
                        "}]}\n\n");
  }
  return absl::StrCat("data: ", answer.Head(true), "\"choices\":[{\"index\":0,\"text\":\"", text,
                      "\",\"logprobs\":null,\"finish_reason\":", reason, ",\"stop_reason\":null}],\"usage\":null}\n\n");
}

std::string RoleEvent(const FakeAnswer& answer) {
  return absl::StrCat("data: ", answer.Head(true),
                      "\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"\"},"
                      "\"logprobs\":null,\"finish_reason\":null}]}\n\n");
}

std::string UsageEvent(const FakeAnswer& answer) {
  return absl::StrCat("data: ", answer.Head(true), "\"choices\":[],\"usage\":", answer.Usage(), "}\n\n");
}

// The events of one answer on their way out, perhaps held back by a proxy.
class Events {
 public:
  Events(const FakeFaults& faults, HttpConnection& connection) : faults_(faults), connection_(connection) {}

  bool Send(const std::string& event) {
    held_ += HttpChunk(event);
    const auto now = Clock::now();
    if (std::chrono::duration<double>(now - passed_).count() < faults_.hold_back_seconds) return true;
    passed_ = now;
    return Pass();
  }
  bool End() {
    held_ += HttpChunk("");
    return Pass();
  }

  // What goes wrong with this request now. False: the stream ends with it.
  bool Fail(const FakeAnswer& answer) {
    if (IsOfShare(faults_.reset, answer.number)) return Cut("", true);
    if (IsOfShare(faults_.truncated_body, answer.number)) return Cut("400\r\ndata: {\"id\":", false);
    if (IsOfShare(faults_.endless_event, answer.number)) return SendEndless();
    if (IsOfShare(faults_.huge_event, answer.number)) {
      return Send(TokenEvent(answer, std::string(kHugeEvent, 'w'), false));
    }
    if (IsOfShare(faults_.wrong_json, answer.number)) {
      return Send("data: {\"id\":\"cmpl-0\",\"choices\":[{\"index\":0,\"text\":}\n\n");
    }
    if (IsOfShare(faults_.error_event, answer.number)) {
      Send("data: {\"error\":{\"message\":\"the engine has died\",\"type\":\"InternalServerError\",\"code\":500}}\n\n");
      Send("data: [DONE]\n\n");
      End();
      return false;
    }
    return true;
  }

 private:
  using Clock = std::chrono::steady_clock;

  bool Pass() {
    std::string bytes;
    bytes.swap(held_);
    return connection_.Write(bytes);
  }
  bool Cut(const char* rest, bool reset) {
    held_ += rest;
    if (Pass() && reset) connection_.Reset();
    return false;
  }
  bool SendEndless() {
    held_ += HttpChunk("data: {\"id\":\"");
    const std::string part = HttpChunk(std::string(size_t{1} << 16, 'w'));
    for (size_t sent = 0; sent < kEndlessEvent && Pass(); sent += part.size()) held_ += part;
    return false;
  }

  const FakeFaults& faults_;
  HttpConnection& connection_;
  Clock::time_point passed_ = Clock::now();
  std::string held_;
};

bool SendTokens(const FakeAnswer& answer, const Generation& generation, const FakeFaults& faults, Events& events) {
  const auto interval = std::max<int64_t>(1, static_cast<int64_t>(faults.stream_interval));
  const bool early_role = faults.early_role > 0;
  if (answer.chat && early_role && !events.Send(RoleEvent(answer))) return false;
  bool failed = false;
  for (int64_t sent = 0, count = 0; sent < answer.output_tokens; ++count) {
    const int64_t next = sent == 0 ? 1 : std::min(answer.output_tokens, sent + interval);
    if (generation.WaitFor(next) < next) return false;
    if (answer.chat && sent == 0 && !early_role && !events.Send(RoleEvent(answer))) return false;
    const bool last = next == answer.output_tokens;
    if (!failed && (last || static_cast<double>(count) >= faults.after_events)) {
      failed = true;
      if (!events.Fail(answer)) return false;
    }
    if (!events.Send(TokenEvent(answer, Words(next - sent), last))) return false;
    sent = next;
  }
  return true;
}

}  // namespace

std::string FakeAnswer::Head(bool chunk) const {
  const char* const object = !chat ? "text_completion" : chunk ? "chat.completion.chunk" : "chat.completion";
  return absl::StrCat("{\"id\":\"", chat ? "chatcmpl-" : "cmpl-", number, "\",\"object\":\"", object,
                      "\",\"created\":", created, ",\"model\":\"", model, "\",");
}

std::string FakeAnswer::Usage() const {
  return absl::StrCat("{\"prompt_tokens\":", prompt_tokens, ",\"total_tokens\":", prompt_tokens + output_tokens,
                      ",\"completion_tokens\":", output_tokens, "}");
}

bool StreamAnswer(const FakeAnswer& answer, const Generation& generation, const FakeFaults& faults,
                  HttpConnection& connection) {
  Events events(faults, connection);
  if (connection.BeginStream() && SendTokens(answer, generation, faults, events) &&
      (!answer.has_usage || events.Send(UsageEvent(answer))) && events.Send("data: [DONE]\n\n") && events.End()) {
    return true;
  }
  connection.Close();
  return false;
}

bool WriteAnswer(const FakeAnswer& answer, const Generation& generation, HttpConnection& connection) {
  if (generation.WaitFor(answer.output_tokens) < answer.output_tokens) {
    connection.Close();
    return false;
  }
  const std::string text = absl::StrCat(
      answer.chat ? "\"message\":{\"role\":\"assistant\",\"content\":\"" : "\"text\":\"", Words(answer.output_tokens),
      answer.chat ? "\"}" : "\"", ",\"logprobs\":null,\"finish_reason\":\"", answer.FinishReason(), "\"");
  return connection.Answer("200 OK", "application/json",
                           absl::StrCat(answer.Head(false), "\"choices\":[{\"index\":0,", text, "}]",
                                        answer.has_usage ? ",\"usage\":" + answer.Usage() : "", "}"));
}

}  // namespace foretoken::fake
