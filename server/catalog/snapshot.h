// The catalog at one moment: bundled entries overlaid by registered ones. Immutable, so any number of threads may
// read it without locks, and everything that one call answers comes from one snapshot.
#ifndef FORETOKEN_SERVER_CATALOG_SNAPSHOT_H_
#define FORETOKEN_SERVER_CATALOG_SNAPSHOT_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "estimator/calibration/calibration.h"
#include "estimator/hardware.h"
#include "estimator/model.h"
#include "estimator/step_model_cache.h"
#include "foretoken/v1/catalog_service.pb.h"

namespace foretoken::catalog {

// An entry in both its forms: as the API shows it, and as the core model reads it.
struct HardwareRecord {
  v1::HardwareEntry entry;
  Hardware hardware;
};
struct ModelRecord {
  v1::ModelEntry entry;
  Model model;
};

// The calibrations that ship, in both forms.
struct ShippedCalibrations {
  ShippedCalibrations() = default;
  ShippedCalibrations(std::vector<v1::CalibrationSpec> sorted, std::vector<Calibration> parsed)
      : specs(std::move(sorted)), parsed(std::move(parsed)) {}

  const std::vector<v1::CalibrationSpec> specs;  // sorted by id
  const Calibrations parsed;
};

class Snapshot {
 public:
  Snapshot(std::vector<HardwareRecord> hardware, std::vector<ModelRecord> models, v1::CatalogRevision revision,
           std::shared_ptr<const ShippedCalibrations> calibrations, absl::Time loaded);
  Snapshot(const Snapshot&) = delete;  // the maps point into the vectors
  Snapshot& operator=(const Snapshot&) = delete;

  // The entry of this id.
  //
  // Errors, about `field`: kUnknownId (NOT_FOUND) naming the closest ids; kInvalidField where it is too long to be one.
  absl::StatusOr<const HardwareRecord*> FindHardware(std::string_view id, std::string_view field) const;
  absl::StatusOr<const ModelRecord*> FindModel(std::string_view id, std::string_view field) const;

  // Those that ship; registered ones are of their hardware.
  const Calibrations& calibrations() const { return calibrations_->parsed; }
  const std::vector<v1::CalibrationSpec>& calibration_specs() const { return calibrations_->specs; }

  // What was derived from this snapshot's models, hardware and calibrations so far.
  const StepModelCache& step_models() const { return step_models_; }

  // All entries, by id.
  const std::vector<HardwareRecord>& hardware() const { return hardware_; }
  const std::vector<ModelRecord>& models() const { return models_; }

  const v1::CatalogRevision& revision() const { return revision_; }
  // When this snapshot was last known to agree with the store. The one thing about it that moves on.
  absl::Time loaded() const { return absl::FromUnixMicros(loaded_us_.load(std::memory_order_relaxed)); }
  void MarkLoaded(absl::Time now) const { loaded_us_.store(absl::ToUnixMicros(now), std::memory_order_relaxed); }

 private:
  std::vector<HardwareRecord> hardware_;  // sorted by id
  std::vector<ModelRecord> models_;       // sorted by id
  absl::flat_hash_map<std::string, const HardwareRecord*> hardware_by_id_;
  absl::flat_hash_map<std::string, const ModelRecord*> models_by_id_;
  v1::CatalogRevision revision_;
  std::shared_ptr<const ShippedCalibrations> calibrations_;
  mutable std::atomic<int64_t> loaded_us_;
  StepModelCache step_models_;
};

}  // namespace foretoken::catalog

#endif  // FORETOKEN_SERVER_CATALOG_SNAPSHOT_H_
