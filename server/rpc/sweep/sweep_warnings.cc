#include "server/rpc/sweep/sweep_warnings.h"

#include <algorithm>
#include <string_view>

#include "server/rpc/wire/convert.h"

namespace foretoken::rpc {
namespace {

bool IsOfAnEngine(const Warning& warning) {
  const std::string_view field = warning.field;
  return field.ends_with("deployment.engine") || field == "disaggregated_prefill.hardware_id";
}

}  // namespace

SweepWarnings::Noted* SweepWarnings::Find(const Warning& warning) {
  if (last_ < noted_.size() && noted_[last_].warning == warning) return &noted_[last_];
  const auto found =
      std::find_if(noted_.begin(), noted_.end(), [&](const Noted& noted) { return noted.warning == warning; });
  if (found == noted_.end()) return nullptr;
  last_ = static_cast<size_t>(found - noted_.begin());
  return &*found;
}

void SweepWarnings::Note(const std::vector<Warning>& warnings, int64_t first_point, int64_t points) {
  for (const Warning& warning : warnings) {
    if (!IsOfAnEngine(warning)) continue;
    if (Noted* noted = Find(warning)) {
      noted->points += points;
    } else if (noted_.size() < kMaxSweepWarnings) {
      noted_.push_back({warning, first_point, points});
    }
  }
}

void SweepWarnings::Write(v1::SweepSummary& summary) const {
  for (const Noted& noted : noted_) {
    v1::SweepWarning& message = *summary.add_warnings();
    WriteWarning(noted.warning, *message.mutable_warning());
    message.set_first_point(noted.first_point);
    message.set_num_points(noted.points);
  }
}

}  // namespace foretoken::rpc
