#include "server/ops/process/library_log.h"

#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "google/protobuf/stubs/logging.h"
#include "grpc/support/log.h"
#include "server/ops/log.h"

namespace foretoken::ops {
namespace {

constexpr size_t kMostMessageBytes = 1024;

void Write(LogLevel level, std::string_view library, std::string message) {
  static absl::Mutex mutex;
  static auto& limit = *new LineLimit(kMostLibraryLines);
  int64_t left_out = 0;
  {
    absl::MutexLock lock(&mutex);
    if (!limit.Take(absl::Now(), &left_out)) return;
  }
  if (message.size() > kMostMessageBytes) message.resize(kMostMessageBytes);
  if (left_out > 0) {
    Log(LogLevel::kWarning, "library_lines_left_out", {{"lines", absl::StrCat(left_out)}});
  }
  Log(level, library, {{"message", std::move(message)}});
}

void OfProtobuf(google::protobuf::LogLevel level, const char*, int, const std::string& message) {
  Write(level >= google::protobuf::LOGLEVEL_ERROR ? LogLevel::kError : LogLevel::kWarning, "protobuf", message);
}

LogLevel LevelOf(gpr_log_severity severity) {
  if (severity == GPR_LOG_SEVERITY_ERROR) return LogLevel::kError;
  return LogLevel::kInfo;
}

void OfGrpc(gpr_log_func_args* args) { Write(LevelOf(args->severity), "grpc", args->message); }

}  // namespace

bool LineLimit::Take(absl::Time now, int64_t* left_out) {
  if (now < second_ || now >= second_ + absl::Seconds(1)) {
    second_ = now;
    taken_ = 0;
  }
  if (taken_ >= most_) {
    ++left_out_;
    return false;
  }
  ++taken_;
  *left_out = left_out_;
  left_out_ = 0;
  return true;
}

void LogOfLibraries() {
  google::protobuf::SetLogHandler(OfProtobuf);
  gpr_set_log_function(OfGrpc);
}

}  // namespace foretoken::ops
