// What measurements made of the core model's parameters for one engine, one engine on one device, or one model on both,
// and how far off its predictions were on measurements that it had not seen.
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

// Rises with every change of a formula or of what is fitted: parameters that were fitted to others mean something else.
inline constexpr int kModelVersion = 6;

// The three times of a request, in this order wherever they stand in arrays.
enum Metric { kTtft, kTpot, kE2e };
inline constexpr int kNumMetrics = 3;
inline constexpr std::array<const char*, kNumMetrics> kMetricNames = {"TTFT", "TPOT", "E2E"};

// Measured over predicted: between `low` and `high` in a `coverage` share of unseen cases.
struct BandRatio {
  double low = 1;
  double high = 1;
  double coverage = 0;
};

using Bands = std::array<std::optional<BandRatio>, kNumMetrics>;

// The largest of the samples; 0: not stated.
struct LargestDegrees {
  int tensor_parallel = 0;
  int pipeline_parallel = 0;

  void Add(const Deployment& sample) {
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
  Efficiencies efficiencies;
  Bands bands;
  LargestDegrees degrees;
  std::optional<int64_t> fit_time_unix_seconds;  // absent: it ships
};

// Calibrations by what they are for. Immutable.
class Calibrations {
 public:
  Calibrations() = default;
  explicit Calibrations(std::vector<Calibration> calibrations);
  Calibrations(const Calibrations&) = delete;  // the map looks into the vector
  Calibrations& operator=(const Calibrations&) = delete;

  // The closest one: of this device, else of engines alone; in each of this engine and version, of the engine's nearest
  // version (asked without one: its newest), of the engine whatever its version; else the generic one; null: none.
  // An empty hardware_id is a device that no calibration is of.
  // Of a device's the one of this model, where it has parameters of its own; an empty model_id is none of the catalog.
  // Static batches and continuous batching are measured apart, and never stand in for each other.
  const Calibration* Find(std::string_view hardware_id, std::string_view engine, std::string_view model_id,
                          bool continuous) const;
  // The same, of exactly this device, or with an empty hardware_id of engines alone.
  const Calibration* FindOf(std::string_view hardware_id, std::string_view engine, std::string_view model_id,
                            bool continuous) const;

  const std::vector<Calibration>& all() const { return all_; }

 private:
  // One for any model, and those of single models beside it.
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

// The one that answers for a device: what was registered for it, what ships for `catalog_id` (empty: the device is
// not of the catalog), what ships for the engine, what ships for any. Null: nothing does. `model_id`: of the catalog,
// or empty.
const Calibration* FindCalibration(const Hardware& hardware, std::string_view catalog_id, const Calibrations& shipped,
                                   std::string_view engine, std::string_view model_id, bool continuous);

// Puts the calibration's bands around the estimate's times; null: none.
void SetBands(const Calibration* calibration, Estimate& estimate);

}  // namespace foretoken

#endif  // FORETOKEN_ESTIMATOR_SCENARIO_CALIBRATION_H_
