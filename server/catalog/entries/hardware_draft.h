// A hardware entry on its way into the catalog, in both its forms: the spec that will be stored, and what the core
// model reads of the spec. Figures are parsed once. Profiles and calibrations may still be added; they alone are parsed
// again.
#ifndef FORETOKEN_SERVER_CATALOG_ENTRIES_HARDWARE_DRAFT_H_
#define FORETOKEN_SERVER_CATALOG_ENTRIES_HARDWARE_DRAFT_H_

#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "estimator/scenario/hardware.h"
#include "foretoken/v1/hardware.pb.h"
#include "server/catalog/entries/snapshot.h"

namespace foretoken::catalog {

// Not thread-safe.
class HardwareDraft {
 public:
  explicit HardwareDraft(v1::HardwareSpec spec);

  const v1::HardwareSpec& spec() const { return spec_; }
  // What the core model reads of spec(). Valid until lists() or Inherit is called. Errors: those of ParseHardware.
  const absl::StatusOr<Hardware>& hardware();

  // To add linear profiles and calibrations to, or to replace them. REQUIRES: no other field is changed.
  v1::HardwareSpec& lists();

  // Takes over the linear profiles and the calibrations of the entry that this one replaces, where the draft lists none
  // of its own: they outlive a change of the figures. REQUIRES: the snapshot has caught up with the store.
  void Inherit(const Snapshot& snapshot);
  // Whether Inherit was called.
  bool has_inherited() const { return has_inherited_; }

 private:
  v1::HardwareSpec spec_;
  absl::StatusOr<Hardware> hardware_;
  bool lists_are_read_ = true;
  bool has_inherited_ = false;
};

}  // namespace foretoken::catalog

#endif  // FORETOKEN_SERVER_CATALOG_ENTRIES_HARDWARE_DRAFT_H_
