#include "server/rpc/catalog/page_token.h"

#include <algorithm>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "estimator/base/errors.h"

namespace foretoken::rpc {
namespace {

constexpr char kSeparator = '\0';  // in no id
constexpr int kDefaultPage = 100;
constexpr int kMaxPage = 1000;

}  // namespace

absl::StatusOr<int> ReadPageSize(int asked) {
  if (asked >= 0) return asked == 0 ? kDefaultPage : std::min(asked, kMaxPage);
  return Refusal(Reason::kInvalidField, "page_size", absl::StrCat("page_size ", asked, "; allowed 0 or more"));
}

std::string MakePageToken(std::string_view collection, std::string_view filter, std::string_view last_id) {
  std::string plain;
  for (const std::string_view part : {collection, filter, last_id}) {
    plain.append(part);
    plain.push_back(kSeparator);
  }
  return absl::WebSafeBase64Escape(plain);
}

absl::StatusOr<std::string> ReadPageToken(const std::string& token, std::string_view collection,
                                          std::string_view filter) {
  if (token.empty()) return std::string();
  std::string plain;
  if (absl::WebSafeBase64Unescape(token, &plain)) {
    const std::vector<std::string> parts = absl::StrSplit(plain, kSeparator);
    const bool whole = parts.size() == 4 && parts[3].empty() && !parts[2].empty();
    if (whole && parts[0] == collection && parts[1] == filter) return parts[2];
  }
  return Refusal(Reason::kInvalidField, "page_token",
                 "page_token is not one that this call gave for the same id_contains; allowed: next_page_token of the "
                 "last response, or empty");
}

}  // namespace foretoken::rpc
