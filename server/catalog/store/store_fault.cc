#include "server/catalog/store/store_fault.h"

#include <utility>

#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"
#include "estimator/base/errors.h"

namespace foretoken::catalog {
namespace {

constexpr absl::string_view kInside = "foretoken/inside";

}  // namespace

absl::Status StoreFault(std::string_view what, std::string_view inside) {
  absl::Status status = Refusal(Reason::kStoreUnavailable, "",
                                absl::StrCat("catalog store: ", absl::string_view(what.data(), what.size())));
  if (!inside.empty()) status.SetPayload(kInside, absl::Cord(absl::string_view(inside.data(), inside.size())));
  return status;
}

std::string TextInside(const absl::Status& status) {
  const absl::optional<absl::Cord> inside = status.GetPayload(kInside);
  if (!inside.has_value()) return std::string(status.message());
  return absl::StrCat(status.message(), " (", std::string(*inside), ")");
}

absl::Status WithInsideOf(absl::Status status, const absl::Status& from) {
  if (const absl::optional<absl::Cord> inside = from.GetPayload(kInside)) status.SetPayload(kInside, *inside);
  return status;
}

}  // namespace foretoken::catalog
