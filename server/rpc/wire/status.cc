#include "server/rpc/wire/status.h"

#include <optional>

#include "absl/strings/str_cat.h"
#include "estimator/base/errors.h"
#include "estimator/base/violations.h"
#include "google/protobuf/util/time_util.h"
#include "google/rpc/error_details.pb.h"
#include "server/work/retry_after.h"

namespace foretoken::rpc {
namespace {

constexpr std::string_view kDomain = "foretoken.v1";
constexpr std::string_view kCut = " ... (cut)";
constexpr size_t kMaxDescriptionBytes = 512;
constexpr size_t kReservedForCount = 64;  // the violation that counts the others

google::rpc::ErrorInfo ErrorInfoOf(const RefusalDetail& detail) {
  google::rpc::ErrorInfo info;
  info.set_reason(std::string(ReasonName(detail.reason)));
  info.set_domain(std::string(kDomain));
  if (!detail.current_etag.empty()) (*info.mutable_metadata())["current_etag"] = detail.current_etag;
  return info;
}

google::rpc::BadRequest BadRequestOf(const RefusalDetail& detail) {
  google::rpc::BadRequest bad_request;
  for (size_t i = 0; i < detail.violations.size(); ++i) {
    google::rpc::BadRequest::FieldViolation* violation = bad_request.add_field_violations();
    violation->set_field(Truncate(detail.violations[i].field, kMaxDescriptionBytes));
    violation->set_description(Truncate(detail.violations[i].description, kMaxDescriptionBytes));
    if (bad_request.ByteSizeLong() > kMaxDetailBytes - kReservedForCount) {
      violation->set_field("");
      violation->set_description(
          absl::StrCat("... and ", AtLeast(detail.violations), detail.violations.size() - i, " more violations"));
      break;
    }
  }
  return bad_request;
}

}  // namespace

std::string Truncate(std::string_view text, size_t limit) {
  if (text.size() <= limit) return std::string(text);
  size_t end = limit - kCut.size();
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;  // a continuation byte of UTF-8
  return std::string(text.substr(0, end)) + std::string(kCut);
}

google::rpc::Status ToRpcStatus(const absl::Status& status) {
  google::rpc::Status result;
  result.set_code(static_cast<int>(status.code()));
  result.set_message(Truncate(std::string_view(status.message().data(), status.message().size()), kMaxMessageBytes));
  if (const std::optional<double> seconds = work::RetryAfterOf(status)) {
    google::rpc::RetryInfo retry;
    *retry.mutable_retry_delay() =
        google::protobuf::util::TimeUtil::MillisecondsToDuration(static_cast<int64_t>(*seconds * 1e3));
    result.add_details()->PackFrom(retry);
  }
  const RefusalDetail detail = DetailOf(status);
  if (detail.reason == Reason::kUnspecified) return result;
  result.add_details()->PackFrom(ErrorInfoOf(detail));
  if (!detail.violations.empty()) result.add_details()->PackFrom(BadRequestOf(detail));
  return result;
}

grpc::Status ToGrpcStatus(const absl::Status& status) {
  if (status.ok()) return grpc::Status::OK;
  google::rpc::Status wire = ToRpcStatus(status);
  const std::string message = wire.message();
  // The message travels as grpc-message already; twice would not fit.
  if (wire.details_size() > 0) wire.set_message(Truncate(message, 256));
  return grpc::Status(static_cast<grpc::StatusCode>(wire.code()), message,
                      wire.details_size() > 0 ? wire.SerializeAsString() : std::string());
}

}  // namespace foretoken::rpc
