#include "client/cli/profile/load.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <random>

#include "absl/random/distributions.h"
#include "absl/random/random.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "client/cli/profile/event_stream.h"

namespace foretoken::cli {
namespace {

constexpr int kMostFailures = 10;

std::string Span(int least, int most) { return least == most ? absl::StrCat(most) : absl::StrCat(least, " to ", most); }

// Seconds until the next arrival: a gamma distribution of the mean 1 / rate and the stated deviation.
double Interarrival(const LoadPoint& point, absl::BitGenRef random) {
  if (point.arrival_cv <= 0) return 1 / *point.rate;
  const double shape = 1 / (point.arrival_cv * point.arrival_cv);
  std::gamma_distribution<double> gamma(shape, 1 / (*point.rate * shape));
  return gamma(random);
}

// All requests of a run, with their lengths, and for an open loop when they are due.
std::vector<RequestTiming> Draw(const LoadPoint& point, absl::BitGenRef random) {
  std::vector<RequestTiming> requests(point.requests);
  double due = 0;
  for (RequestTiming& request : requests) {
    request.prompt_asked = absl::Uniform(absl::IntervalClosed, random, point.prompt_least, point.prompt_most);
    request.output_asked = absl::Uniform(absl::IntervalClosed, random, point.output_least, point.output_most);
    request.due = due;
    if (point.rate.has_value()) due += Interarrival(point, random);
  }
  return requests;
}

// A run as it goes on.
class Load {
 public:
  Load(HttpClient& http, const Target& target, const LoadPoint& point, absl::BitGenRef random)
      : http_(http), target_(target), point_(point), requests_(Draw(point, random)) {}

  absl::StatusOr<LoadRun> Run(const LoadLimits& limits) {
    const absl::Time wall = absl::Now();
    start_ = SteadySeconds();
    while (ended_ < next_ || MoreToSend()) {
      if (limits.interrupted()) return GiveUp(absl::CancelledError("interrupted"));
      if (Now() > limits.seconds) {
        return GiveUp(
            absl::DeadlineExceededError(absl::StrCat(requests_.size() - ended_, " of ", requests_.size(),
                                                     " requests had not ended after ", limits.seconds, " s")));
      }
      SendDue();
      http_.Poll(absl::Seconds(Wait()));
    }
    const double seconds = Now();
    return LoadRun{.point = point_,
                   .requests = std::move(requests_),
                   .seconds = seconds,
                   .clock_step = absl::ToDoubleSeconds(absl::Now() - wall) - seconds};
  }

 private:
  double Now() const { return SteadySeconds() - start_; }
  bool MoreToSend() const { return next_ < requests_.size() && failures_ < kMostFailures; }

  bool Due() const {
    if (!MoreToSend()) return false;
    return point_.rate.has_value() ? requests_[next_].due <= Now()
                                   : next_ - ended_ < static_cast<size_t>(point_.concurrency);
  }

  // Seconds to wait for an answer: until the next request of an open loop is due.
  double Wait() const {
    constexpr double kLongest = 0.1;
    if (!point_.rate.has_value() || !MoreToSend()) return kLongest;
    return std::clamp(requests_[next_].due - Now(), 0.0, kLongest);
  }

  void SendDue() {
    while (Due()) Send(next_++);
  }

  void Send(size_t index) {
    RequestTiming& request = requests_[index];
    std::string body = BodyOf({.model = target_.model,
                               .api = target_.api,
                               .scale = target_.scale,
                               .prompt_tokens = request.prompt_asked,
                               .output_tokens = request.output_asked},
                              prompts_);
    request.sent = Now();
    if (!point_.rate.has_value()) request.due = freed_;
    const auto stream = std::make_shared<EventStream>();
    http_.Post(target_.url + PathOf(target_.api), std::move(body),
               {.on_bytes = [this, stream, &request](std::string_view bytes) { return Take(bytes, *stream, request); },
                .on_end = [this, stream, &request](const HttpEnd& end) { End(end, *stream, request); }});
  }

  absl::Status Take(std::string_view bytes, EventStream& stream, RequestTiming& request) {
    const double now = Now() - request.sent;
    return stream.Add(bytes, [now, &request](std::string_view data) {
      const absl::StatusOr<Event> event = ReadEvent(data);
      if (!event.ok()) return event.status();
      if (event->token) TakeToken(now, request);
      if (event->prompt_tokens.has_value()) request.prompt_tokens = event->prompt_tokens;
      if (event->output_tokens.has_value()) request.output_tokens = event->output_tokens;
      request.cached_tokens = std::max(request.cached_tokens, event->cached_tokens.value_or(0));
      // A server that goes on for ever is cut: no answer has more events than tokens.
      return request.events <= request.output_asked + 16
                 ? absl::OkStatus()
                 : absl::ResourceExhaustedError(
                       absl::StrCat("more than ", request.output_asked, " events; asked: at most as many tokens"));
    });
  }

  static void TakeToken(double now, RequestTiming& request) {
    if (request.events == 0) request.first = now;
    if (request.events > 0) request.gaps.push_back(static_cast<float>(now - request.last));
    request.last = now;
    ++request.events;
  }

  void End(const HttpEnd& end, const EventStream& stream, RequestTiming& request) {
    request.end = Now() - request.sent;
    request.http_status = end.http_status;
    request.status = StatusOf(end, stream, request);
    if (!request.status.ok()) ++failures_;
    ++ended_;
    freed_ = Now();
  }

  static absl::Status StatusOf(const HttpEnd& end, const EventStream& stream, const RequestTiming& request) {
    if (!end.status.ok()) return end.status;
    if (end.http_status != 200) {
      return absl::UnavailableError(absl::StrCat("HTTP ", end.http_status, ": ", end.error_body));
    }
    if (absl::Status finished = stream.Finish(); !finished.ok()) return finished;
    return request.events > 0 ? absl::OkStatus() : absl::DataLossError("an answer without output");
  }

  absl::Status GiveUp(absl::Status status) {
    http_.CancelAll();
    return status;
  }

  HttpClient& http_;
  const Target& target_;
  const LoadPoint point_;
  absl::BitGen prompts_;  // never the same, also not in the next profile: a prefix cache may have the last one's
  std::vector<RequestTiming> requests_;
  double start_ = 0;
  size_t next_ = 0;  // to be sent
  size_t ended_ = 0;
  int failures_ = 0;
  double freed_ = 0;  // when the last request ended: the next one is due then
};

}  // namespace

std::string Describe(const LoadPoint& point) {
  std::string arrivals = absl::StrCat(point.concurrency, " at once");
  if (point.rate.has_value()) arrivals = absl::StrCat(*point.rate, " requests/s");
  if (point.rate.has_value() && point.arrival_cv != 1)
    absl::StrAppend(&arrivals, " in bursts of CV ", point.arrival_cv);
  return absl::StrCat(arrivals, ", ", Span(point.prompt_least, point.prompt_most), " + ",
                      Span(point.output_least, point.output_most), " tokens, ", point.requests, " requests");
}

absl::StatusOr<LoadRun> RunLoad(HttpClient& http, const Target& target, const LoadPoint& point,
                                const LoadLimits& limits, absl::BitGenRef random) {
  return Load(http, target, point, random).Run(limits);
}

}  // namespace foretoken::cli
