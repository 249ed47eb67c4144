// The parameters of the core model as fitted to measurements: for one engine, one engine on one device, or one model on
// both. Beside them the error bands: how far predictions were off on measurements held out of the fit.
#ifndef FORETOKEN_ESTIMATOR_SCENARIO_CALIBRATION_H_
#define FORETOKEN_ESTIMATOR_SCENARIO_CALIBRATION_H_

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "estimator/scenario/efficiencies.h"
#include "estimator/scenario/estimate.h"
#include "estimator/scenario/hardware.h"
#include "estimator/scenario/scenario.h"

namespace foretoken {

// Rises with every change of a formula or of the set of parameters, because it changes what a fitted value means.
inline constexpr int kModelVersion = 8;

// The three latencies of a request, in the order of every array of them.
enum Metric { kTtft, kTpot, kE2e };
inline constexpr int kNumMetrics = 3;
inline constexpr std::array<const char*, kNumMetrics> kMetricNames = {"TTFT", "TPOT", "E2E"};

// Error band: measured over predicted is between `low` and `high` for a share `coverage` of held-out measurements.
struct BandRatio {
  double low = 1;
  double high = 1;
  double coverage = 0;
};

using Bands = std::array<std::optional<BandRatio>, kNumMetrics>;

// The largest degrees of parallelism among the measurements; 0: not stated.
struct LargestDegrees {
  int tensor_parallel = 0;
  int pipeline_parallel = 0;

  void Add(const Parallelism& sample) {
    tensor_parallel = std::max(tensor_parallel, sample.tensor_parallel);
    pipeline_parallel = std::max(pipeline_parallel, sample.pipeline_parallel);
  }
};

struct Calibration {
  std::string id;
  std::string hardware_id;  // empty: any, the parameters are of the engine alone
  std::string engine;       // "vllm" or "vllm@0.12.0"; both empty: the generic prior, and how far off it was
  std::string model_id;     // empty: any; else beside one of the same hardware and engine for any model
  bool continuous = false;  // of continuous batching; false: of static batches
  bool of_kernels = false;  // fitted to kernels timed alone: all that runs tell of is the generic prior's
  Efficiencies efficiencies;
  Bands bands;
  LargestDegrees degrees;
  std::optional<int64_t> fit_time_unix_seconds;  // absent: it ships with the catalog
};

// Calibrations by device, engine and model. Immutable.
class Calibrations {
 public:
  Calibrations() = default;
  explicit Calibrations(std::vector<Calibration> calibrations);
  Calibrations(const Calibrations&) = delete;  // the map looks into the vector
  Calibrations& operator=(const Calibrations&) = delete;

  // The closest calibration: of this device, else of engines alone, else the generic one; null: none. For each, in this
  // order: this engine and version; the engine's nearest version (its newest, where no version is given); the engine
  // without a version. Among a device's calibrations, prefers one fitted to this model.
  // An empty hardware_id is a device without calibrations; an empty model_id is a model that is not in the catalog.
  // Static batches and continuous batching are measured apart, and never stand in for each other.
  const Calibration* Find(std::string_view hardware_id, std::string_view engine, std::string_view model_id,
                          bool continuous) const;
  // The same, of exactly this device; of engines alone where hardware_id is empty.
  const Calibration* FindOf(std::string_view hardware_id, std::string_view engine, std::string_view model_id,
                            bool continuous) const;

  const std::vector<Calibration>& all() const { return all_; }

 private:
  // The calibration for any model, and those fitted to single models.
  struct Family {
    const Calibration* of_any = nullptr;
    std::vector<const Calibration*> of_models;
  };

  const Family* Exact(std::string_view hardware_id, std::string_view engine, bool continuous) const;
  const Family* NearestVersion(std::string_view hardware_id, std::string_view engine, bool continuous) const;
  const Family* FindFamily(std::string_view hardware_id, std::string_view engine, bool continuous) const;

  using Key = std::tuple<std::string_view, std::string_view, bool>;  // hardware_id, engine, continuous

  std::vector<Calibration> all_;
  absl::flat_hash_map<Key, Family> by_key_;  // views of what is in all_
};

// The calibration that answers for a device, by the first that exists: registered for it, shipped for `catalog_id`
// (empty: the device is not in the catalog), shipped for the engine, shipped for any engine. Null: none. `model_id`: as
// in the catalog, or empty.
const Calibration* FindCalibration(const Hardware& hardware, std::string_view catalog_id, const Calibrations& shipped,
                                   std::string_view engine, std::string_view model_id, bool continuous);

// Puts the calibration's bands around the estimate's times; null: none.
void SetBands(const Calibration* calibration, Estimate& estimate);

}  // namespace foretoken

#endif  // FORETOKEN_ESTIMATOR_SCENARIO_CALIBRATION_H_
