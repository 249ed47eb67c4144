#include "client/status_details.h"

#include <optional>

#include "absl/strings/cord.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "client/printable.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"

namespace foretoken::client {
namespace {

constexpr char kPayloadUrl[] = "type.googleapis.com/google.rpc.Status";

absl::Status WithPayload(int code, std::string_view message, std::string_view details) {
  // A server repeats what it was asked, so a message may hold what a third party wrote.
  absl::Status status(static_cast<absl::StatusCode>(code), Printable(message));
  if (!status.ok() && !details.empty()) {
    status.SetPayload(kPayloadUrl, absl::Cord(absl::string_view(details.data(), details.size())));
  }
  return status;
}

void AddDetail(const google::protobuf::Any& any, ErrorDetails& details) {
  google::rpc::ErrorInfo info;
  google::rpc::BadRequest bad;
  if (any.UnpackTo(&info)) {
    details.reason = Printable(info.reason());
    details.metadata.insert(info.metadata().begin(), info.metadata().end());
  } else if (any.UnpackTo(&bad)) {
    for (const auto& violation : bad.field_violations()) {
      details.fields.push_back({Printable(violation.field()), Printable(violation.description())});
    }
  }
}

}  // namespace

absl::Status FromProto(const google::rpc::Status& status) {
  return WithPayload(status.code(), status.message(), status.SerializeAsString());
}

absl::Status FromWire(int code, std::string_view message, std::string_view details) {
  return WithPayload(code, message, details);
}

ErrorDetails DetailsOf(const absl::Status& status) {
  ErrorDetails details;
  const absl::optional<absl::Cord> payload = status.GetPayload(kPayloadUrl);
  google::rpc::Status proto;
  if (!payload.has_value() || !proto.ParseFromString(std::string(*payload))) return details;
  for (const auto& any : proto.details()) AddDetail(any, details);
  return details;
}

std::string CodeName(absl::StatusCode code) {
  const std::string name = absl::StatusCodeToString(code);
  return name.empty() ? absl::StrCat("code ", static_cast<int>(code)) : name;
}

std::string Describe(const absl::Status& status) {
  const ErrorDetails details = DetailsOf(status);
  std::string message(status.message());
  if (message.empty()) message = "no message";
  const std::string code = CodeName(status.code());
  std::string text = absl::StrCat(message, " (", code);
  if (!details.reason.empty() && details.reason != code) absl::StrAppend(&text, ", ", details.reason);
  text += ")";
  for (const FieldError& field : details.fields) {
    absl::StrAppend(&text, "\n  field ", field.path);
    // With several fields the message alone does not say which part belongs to which field.
    const bool repeated = details.fields.size() == 1 && absl::StrContains(message, field.description);
    if (!repeated && !field.description.empty()) absl::StrAppend(&text, ": ", field.description);
  }
  return Printable(text);
}

std::string DescribeInLine(const absl::Status& status) {
  return absl::StrReplaceAll(Describe(status), {{"\n  ", "; "}, {"\n", " "}});
}

}  // namespace foretoken::client
