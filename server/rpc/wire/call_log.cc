#include "server/rpc/wire/call_log.h"

#include <algorithm>
#include <atomic>

#include "absl/random/random.h"
#include "absl/strings/str_format.h"
#include "server/catalog/store/store_fault.h"
#include "server/ops/log.h"
#include "server/rpc/wire/status.h"

namespace foretoken::rpc {
namespace {

constexpr size_t kMostIdBytes = 128;

std::atomic<double> logged_share{0};

// One generator a thread, so that calls share nothing.
absl::InsecureBitGen& Random() {
  static thread_local absl::InsecureBitGen random;
  return random;
}

bool IsSampled() {
  const double share = logged_share.load(std::memory_order_relaxed);
  return share > 0 && absl::Uniform(Random(), 0.0, 1.0) < share;
}

std::string_view MetadataOf(const grpc::CallbackServerContext& context, const char* key) {
  const auto found = context.client_metadata().find(key);
  if (found == context.client_metadata().end()) return {};
  return {found->second.data(), found->second.size()};
}

// The caller's "x-request-id", else one made up here.
std::string RequestIdOf(const grpc::CallbackServerContext& context) {
  const std::string_view given = MetadataOf(context, "x-request-id");
  if (!given.empty()) return std::string(given.substr(0, kMostIdBytes));
  return absl::StrFormat("%016x", absl::Uniform<uint64_t>(Random()));
}

ops::LogLevel LevelOf(bool fault) { return fault ? ops::LogLevel::kError : ops::LogLevel::kInfo; }

bool IsHex(std::string_view text) {
  const auto digit = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); };
  return std::all_of(text.begin(), text.end(), digit);
}

bool IsZero(std::string_view text) { return text.find_first_not_of('0') == std::string_view::npos; }

}  // namespace

void SetLoggedShare(double share) { logged_share = share; }

std::string_view TraceOf(std::string_view traceparent) {
  constexpr size_t kBytes = 2 + 1 + 32 + 1 + 16 + 1 + 2;
  // A later version may add fields after these.
  if (traceparent.size() < kBytes || (traceparent.size() > kBytes && traceparent[kBytes] != '-')) return {};
  const std::string_view version = traceparent.substr(0, 2), trace = traceparent.substr(3, 32);
  const std::string_view span = traceparent.substr(36, 16), flags = traceparent.substr(53, 2);
  const bool dashes = traceparent[2] == '-' && traceparent[35] == '-' && traceparent[52] == '-';
  const bool hex = IsHex(version) && IsHex(trace) && IsHex(span) && IsHex(flags);
  const bool longer = traceparent.size() > kBytes;
  if (!dashes || !hex || version == "ff" || (version == "00" && longer) || IsZero(trace) || IsZero(span)) return {};
  return traceparent.substr(3, 32 + 1 + 16);
}

void LogCall(const grpc::CallbackServerContext& context, const ops::Rpc& rpc, const absl::Status& status,
             std::chrono::nanoseconds time) {
  const bool fault = absl::IsInternal(status) || absl::IsUnknown(status) || absl::IsUnavailable(status);
  if (!fault && !rpc.writes && !IsSampled()) return;
  ops::Log(LevelOf(fault), "call",
           {{"method", rpc.method},
            {"code", absl::StatusCodeToString(status.code())},
            {"ms", absl::StrFormat("%.3f", std::chrono::duration<double, std::milli>(time).count())},
            {"peer", context.peer()},
            {"request_id", RequestIdOf(context)},
            {"trace", std::string(TraceOf(MetadataOf(context, "traceparent")))},
            {"message", Truncate(catalog::TextInside(status), kMaxMessageBytes)}});
}

}  // namespace foretoken::rpc
