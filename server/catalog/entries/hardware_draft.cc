#include "server/catalog/entries/hardware_draft.h"

#include "server/catalog/spec/parse.h"

namespace foretoken::catalog {

HardwareDraft::HardwareDraft(v1::HardwareSpec spec) : spec_(std::move(spec)), hardware_(ParseHardware(spec_)) {}

const absl::StatusOr<Hardware>& HardwareDraft::hardware() {
  if (lists_are_read_ || !hardware_.ok()) return hardware_;
  lists_are_read_ = true;
  if (absl::Status status = ParseLists(spec_, *hardware_); !status.ok()) hardware_ = status;
  return hardware_;
}

v1::HardwareSpec& HardwareDraft::lists() {
  lists_are_read_ = false;
  return spec_;
}

void HardwareDraft::Inherit(const Snapshot& snapshot) {
  has_inherited_ = true;
  const auto before = snapshot.FindHardware(spec_.id(), "spec.id");
  if (!before.ok()) return;
  const v1::HardwareSpec& kept = (*before)->entry.spec();
  if (spec_.linear_profiles_size() == 0 && kept.linear_profiles_size() > 0) {
    *lists().mutable_linear_profiles() = kept.linear_profiles();
  }
  if (spec_.calibrations_size() == 0 && kept.calibrations_size() > 0) {
    *lists().mutable_calibrations() = kept.calibrations();
  }
}

}  // namespace foretoken::catalog
