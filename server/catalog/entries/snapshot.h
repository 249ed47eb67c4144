// The catalog at one moment: bundled entries overlaid by registered ones. Immutable, so any number of threads may
// read it without locks, and everything that one call answers comes from one snapshot.
#ifndef FORETOKEN_SERVER_CATALOG_ENTRIES_SNAPSHOT_H_
#define FORETOKEN_SERVER_CATALOG_ENTRIES_SNAPSHOT_H_

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "estimator/methods/step_model_cache.h"
#include "estimator/scenario/calibration.h"
#include "estimator/scenario/hardware.h"
#include "estimator/scenario/model.h"
#include "foretoken/v1/catalog_service.pb.h"
#include "server/catalog/entries/engines.h"

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

  const std::vector<v1::CalibrationSpec> specs = {};  // sorted by id
  const Calibrations parsed = {};
};

// The records of one kind. Records are shared from one collection to the next, so that a change of one entry costs a
// copy of pointers, whatever the others weigh.
template <typename Record>
class Collection {
 public:
  using Pointer = std::shared_ptr<const Record>;

  // REQUIRES: sorted by id, each id once. `bundled`: the collection that `records` overlay, null where they are the
  // bundled ones themselves. An id is always the name of its own entry. Where entries share an alias all the same, as
  // when two replicas registered it at once, a registered one comes before a bundled one, then the lower id.
  explicit Collection(std::vector<Pointer> records, const Collection* bundled = nullptr);
  Collection(const Collection&) = delete;  // the map points into the records
  Collection& operator=(const Collection&) = delete;

  const std::vector<Pointer>& records() const { return records_; }
  // The record of exactly this id. Null: there is none.
  const Record* ById(std::string_view id) const;
  // The record of this id or alias, letters in either case. Null: there is none.
  const Record* Find(std::string_view name) const;
  // By alias, in lower case.
  const absl::flat_hash_map<std::string, const Record*>& aliases() const { return by_alias_; }

 private:
  // Makes the aliases of `from` names of `record`, unless they are taken.
  void AddAliases(const Record& from, const Record* record);

  std::vector<Pointer> records_;
  absl::flat_hash_map<absl::string_view, const Record*> by_id_;
  absl::flat_hash_map<std::string, const Record*> by_alias_;
};

class Snapshot {
 public:
  Snapshot(std::shared_ptr<const Collection<HardwareRecord>> hardware,
           std::shared_ptr<const Collection<ModelRecord>> models, v1::CatalogRevision revision,
           std::shared_ptr<const ShippedCalibrations> calibrations, std::shared_ptr<const Engines> engines);

  // The entry of this id or alias, letters in either case.
  //
  // Errors, about `field`: kUnknownId (NOT_FOUND) naming the closest ids; kInvalidField where it is too long to be one.
  absl::StatusOr<const HardwareRecord*> FindHardware(std::string_view name, std::string_view field) const;
  absl::StatusOr<const ModelRecord*> FindModel(std::string_view name, std::string_view field) const;
  // The same where nobody is told of an unknown name. Null: there is none.
  const HardwareRecord* LookUpHardware(std::string_view name) const { return hardware_->Find(name); }
  const ModelRecord* LookUpModel(std::string_view name) const { return models_->Find(name); }

  // The shipped calibrations. Registered ones are with their hardware.
  const Calibrations& calibrations() const { return calibrations_->parsed; }
  const std::vector<v1::CalibrationSpec>& calibration_specs() const { return calibrations_->specs; }

  // The calibration that answers for an engine ("": any) and a model (its catalog id, or "") on the hardware: by
  // FindCalibration of estimator/scenario/calibration.h; where that has nothing of the engine, by Engines::Nearest.
  // Calibrations of kernels alone are of routed experts, and have nothing for a model without them.
  // `catalog_id` is empty where a request spells the hardware out; then `inline_vendor` is what it states. Null: none,
  // the generic prior answers.
  const Calibration* FindCalibration(const Hardware& hardware, std::string_view catalog_id,
                                     std::string_view inline_vendor, std::string_view engine, const Model& model,
                                     std::string_view model_id, bool continuous) const;

  // The names of engines that questions may ask for.
  const Engines& engines() const { return *engines_; }

  // What was derived from this snapshot's models, hardware and calibrations so far.
  const StepModelCache& step_models() const { return step_models_; }

  // All entries, by id.
  const std::vector<std::shared_ptr<const HardwareRecord>>& hardware() const { return hardware_->records(); }
  const std::vector<std::shared_ptr<const ModelRecord>>& models() const { return models_->records(); }

  const v1::CatalogRevision& revision() const { return revision_; }

  // The same catalog under another revision message.
  std::shared_ptr<const Snapshot> WithRevision(v1::CatalogRevision revision) const;

 private:
  std::shared_ptr<const Collection<HardwareRecord>> hardware_;
  std::shared_ptr<const Collection<ModelRecord>> models_;
  v1::CatalogRevision revision_;
  std::shared_ptr<const ShippedCalibrations> calibrations_;
  std::shared_ptr<const Engines> engines_;
  StepModelCache step_models_;
};

}  // namespace foretoken::catalog

#endif  // FORETOKEN_SERVER_CATALOG_ENTRIES_SNAPSHOT_H_
