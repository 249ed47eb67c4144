#include "estimator/base/errors.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <utility>

#include "absl/strings/cord.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "estimator/base/violations.h"

namespace foretoken {
namespace {

constexpr absl::string_view kPayload = "foretoken/refusal";

struct ReasonInfo {
  std::string_view name;
  absl::StatusCode code;
};

// Indexed by Reason.
constexpr std::array<ReasonInfo, 20> kReasons = {{
    {"UNSPECIFIED", absl::StatusCode::kUnknown},
    {"INVALID_FIELD", absl::StatusCode::kInvalidArgument},
    {"UNKNOWN_ID", absl::StatusCode::kNotFound},
    {"OUT_OF_MEMORY", absl::StatusCode::kFailedPrecondition},
    {"MISSING_FIGURE", absl::StatusCode::kFailedPrecondition},
    {"UNSUPPORTED_MODEL", absl::StatusCode::kFailedPrecondition},
    {"NOT_MODELLED", absl::StatusCode::kUnimplemented},
    {"NO_PROFILE", absl::StatusCode::kFailedPrecondition},
    {"LIMIT_EXCEEDED", absl::StatusCode::kInvalidArgument},
    {"ALREADY_EXISTS", absl::StatusCode::kAlreadyExists},
    {"ETAG_MISMATCH", absl::StatusCode::kAborted},
    {"REQUEST_ID_REUSED", absl::StatusCode::kInvalidArgument},
    {"BUNDLED_ENTRY", absl::StatusCode::kFailedPrecondition},
    {"STORE_UNAVAILABLE", absl::StatusCode::kUnavailable},
    {"INSUFFICIENT_SAMPLES", absl::StatusCode::kFailedPrecondition},
    {"UNSTABLE_LOAD", absl::StatusCode::kFailedPrecondition},
    {"POOR_FIT", absl::StatusCode::kFailedPrecondition},
    {"REVISION_NOT_KEPT", absl::StatusCode::kOutOfRange},
    {"WRITE_NOT_ALLOWED", absl::StatusCode::kUnauthenticated},
    {"OVERLOADED", absl::StatusCode::kResourceExhausted},
}};

const ReasonInfo& InfoOf(Reason reason) { return kReasons[static_cast<size_t>(reason)]; }

// The payload is a list of strings, each "<length>:<bytes>", so that any text survives: reason, etag, then the field
// and the description of each violation.
void Append(std::string& out, std::string_view text) {
  absl::StrAppend(&out, text.size(), ":");
  out.append(text);
}

std::string Encode(const RefusalDetail& detail) {
  std::string out;
  Append(out, absl::StrCat(static_cast<int>(detail.reason)));
  Append(out, detail.current_etag);
  for (const FieldViolation& violation : detail.violations) {
    Append(out, violation.field);
    Append(out, violation.description);
  }
  return out;
}

// Removes the next string from `in` and returns it; nothing where there is none.
std::optional<std::string> Next(std::string_view& in) {
  const size_t colon = in.find(':');
  size_t length = 0;
  if (colon == std::string_view::npos || !absl::SimpleAtoi(absl::string_view(in.data(), colon), &length)) return {};
  in.remove_prefix(colon + 1);
  if (length > in.size()) return {};
  std::string text(in.substr(0, length));
  in.remove_prefix(length);
  return text;
}

RefusalDetail Decode(std::string_view in) {
  RefusalDetail detail;
  const std::optional<std::string> reason = Next(in);
  std::optional<std::string> etag = Next(in);
  size_t number = 0;
  if (!reason || !etag || !absl::SimpleAtoi(*reason, &number) || number >= kReasons.size()) return {};
  detail.reason = static_cast<Reason>(number);
  detail.current_etag = *std::move(etag);
  for (std::optional<std::string> field = Next(in); field; field = Next(in)) {
    detail.violations.push_back({*std::move(field), Next(in).value_or("")});
  }
  return detail;
}

}  // namespace

std::string_view ReasonName(Reason reason) { return InfoOf(reason).name; }

absl::StatusCode CodeOf(Reason reason) { return InfoOf(reason).code; }

absl::Status Refusal(Reason reason, std::string_view field, std::string_view message) {
  RefusalDetail detail{.reason = reason};
  if (!field.empty()) detail.violations.push_back({std::string(field), std::string(message)});
  return RefusalWithDetail(message, detail);
}

absl::Status InvalidFields(const std::vector<FieldViolation>& violations) {
  if (violations.empty()) return absl::OkStatus();
  constexpr size_t kMostInMessage = 5;
  const auto first = violations.begin();
  std::string message =
      absl::StrJoin(first, first + static_cast<std::ptrdiff_t>(std::min(kMostInMessage, violations.size())), ". ",
                    [](std::string* out, const FieldViolation& violation) { out->append(violation.description); });
  if (violations.size() > kMostInMessage) {
    absl::StrAppend(&message, ". And ", AtLeast(violations), violations.size() - kMostInMessage, " more");
  }
  return RefusalWithDetail(message, {.reason = Reason::kInvalidField, .violations = violations});
}

absl::Status RefusalWithDetail(std::string_view message, const RefusalDetail& detail) {
  absl::Status status(CodeOf(detail.reason), absl::string_view(message.data(), message.size()));
  status.SetPayload(kPayload, absl::Cord(Encode(detail)));
  return status;
}

RefusalDetail DetailOf(const absl::Status& status) {
  const absl::optional<absl::Cord> payload = status.GetPayload(kPayload);
  return payload ? Decode(std::string(*payload)) : RefusalDetail{};
}

absl::Status WithFieldPrefix(const absl::Status& status, std::string_view prefix) {
  RefusalDetail detail = DetailOf(status);
  if (detail.violations.empty()) return status;
  for (FieldViolation& violation : detail.violations) violation.field.insert(0, prefix);
  absl::Status prefixed = status;
  prefixed.SetPayload(kPayload, absl::Cord(Encode(detail)));
  return prefixed;
}

}  // namespace foretoken
