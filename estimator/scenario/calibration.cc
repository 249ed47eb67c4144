#include "estimator/scenario/calibration.h"

#include <limits>
#include <utility>

#include "estimator/scenario/engine_version.h"

namespace foretoken {
namespace {

void SetBand(const std::optional<BandRatio>& ratio, TimeEstimate& estimate) {
  const double time = estimate.time.value();
  estimate.band.reset();
  if (ratio) estimate.band = Band{.low = time * ratio->low, .high = time * ratio->high, .coverage = ratio->coverage};
}

}  // namespace

Calibrations::Calibrations(std::vector<Calibration> calibrations) : all_(std::move(calibrations)) {
  for (const Calibration& calibration : all_) {
    Family& family = by_key_[{calibration.hardware_id, calibration.engine, calibration.continuous}];
    if (calibration.model_id.empty()) {
      family.of_any = &calibration;
    } else {
      family.of_models.push_back(&calibration);
    }
  }
}

const Calibrations::Family* Calibrations::Exact(std::string_view hardware_id, std::string_view engine,
                                                bool continuous) const {
  const auto found = by_key_.find({hardware_id, engine, continuous});
  return found == by_key_.end() || found->second.of_any == nullptr ? nullptr : &found->second;
}

const Calibrations::Family* Calibrations::NearestVersion(std::string_view hardware_id, std::string_view engine,
                                                         bool continuous) const {
  const Calibration* nearest = nullptr;
  double distance = std::numeric_limits<double>::infinity();
  for (const Calibration& calibration : all_) {
    if (calibration.continuous != continuous || calibration.hardware_id != hardware_id) continue;
    if (EngineName(calibration.engine) != EngineName(engine)) continue;
    const double apart = VersionsApart(engine, calibration.engine);
    if (apart < distance) {
      distance = apart;
      nearest = &calibration;
    }
  }
  return nearest == nullptr ? nullptr : Exact(hardware_id, nearest->engine, continuous);
}

const Calibrations::Family* Calibrations::FindFamily(std::string_view hardware_id, std::string_view engine,
                                                     bool continuous) const {
  if (all_.empty()) return nullptr;
  if (const Family* exact = Exact(hardware_id, engine, continuous)) return exact;
  const Family* of_name = Exact(hardware_id, EngineName(engine), continuous);
  if (of_name != nullptr && !HasVersionNumber(engine)) return of_name;
  const Family* nearest = NearestVersion(hardware_id, engine, continuous);
  return nearest != nullptr ? nearest : of_name;
}

const Calibration* Calibrations::FindOf(std::string_view hardware_id, std::string_view engine,
                                        std::string_view model_id, bool continuous) const {
  const Family* family = FindFamily(hardware_id, engine, continuous);
  if (family == nullptr) return nullptr;
  for (const Calibration* of_model : family->of_models) {
    if (of_model->model_id == model_id) return of_model;
  }
  return family->of_any;
}

const Calibration* Calibrations::Find(std::string_view hardware_id, std::string_view engine, std::string_view model_id,
                                      bool continuous) const {
  const Calibration* own = hardware_id.empty() ? nullptr : FindOf(hardware_id, engine, model_id, continuous);
  if (own == nullptr) own = FindOf("", engine, model_id, continuous);
  if (own != nullptr) return own;
  const Family* generic = Exact("", "", continuous);
  return generic == nullptr ? nullptr : generic->of_any;
}

const Calibration* FindCalibration(const Hardware& hardware, std::string_view catalog_id, const Calibrations& shipped,
                                   std::string_view engine, std::string_view model_id, bool continuous) {
  const Calibration* registered =
      hardware.calibrations ? hardware.calibrations->FindOf(hardware.id, engine, model_id, continuous) : nullptr;
  return registered != nullptr ? registered : shipped.Find(catalog_id, engine, model_id, continuous);
}

void SetBands(const Calibration* calibration, Estimate& estimate) {
  static const Calibration none;
  const Bands& bands = (calibration != nullptr ? *calibration : none).bands;
  SetBand(bands[kTtft], estimate.ttft);
  SetBand(bands[kTpot], estimate.tpot);
  SetBand(bands[kE2e], estimate.e2e);
}

}  // namespace foretoken
