// What measurements made of the model's parameters for one engine, or one engine on one device, and how far off its
// predictions were on measurements that it had not seen.
#ifndef FORETOKEN_ESTIMATOR_CALIBRATION_CALIBRATION_H_
#define FORETOKEN_ESTIMATOR_CALIBRATION_CALIBRATION_H_

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "estimator/efficiencies.h"
#include "estimator/estimate.h"

namespace foretoken {

// Rises with every change of a formula: parameters that were fitted to other formulas mean something else.
inline constexpr int kModelVersion = 1;

// Measured over predicted: between `low` and `high` in a `coverage` share of unseen cases.
struct BandRatio {
  double low = 1;
  double high = 1;
  double coverage = 0;
};

struct Calibration {
  std::string id;
  std::string hardware_id;  // empty: any, the parameters are of the engine alone
  std::string engine;       // "vllm" or "vllm@0.12.0"
  bool continuous = false;  // of continuous batching; false: of static batches
  Efficiencies efficiencies;
  std::array<std::optional<BandRatio>, 3> bands;  // of TTFT, TPOT and E2E
};

// Calibrations by what they are for. Immutable.
class Calibrations {
 public:
  Calibrations() = default;
  explicit Calibrations(std::vector<Calibration> calibrations);
  Calibrations(const Calibrations&) = delete;  // the map points into the vector
  Calibrations& operator=(const Calibrations&) = delete;

  // The closest one: of this hardware and engine, of this engine and version, of the same engine's nearest version,
  // of the engine whatever its version; null: none. An empty hardware_id is a device that no calibration is of.
  // Static batches and continuous batching are measured apart, and never stand in for each other.
  const Calibration* Find(std::string_view hardware_id, std::string_view engine, bool continuous) const;

  const std::vector<Calibration>& all() const { return all_; }

 private:
  const Calibration* Exact(std::string_view hardware_id, std::string_view engine, bool continuous) const;
  const Calibration* NearestVersion(std::string_view engine, bool continuous) const;

  std::vector<Calibration> all_;
  absl::flat_hash_map<std::string, const Calibration*> by_key_;
};

// Puts bands around the estimate's times.
void AddBands(const Calibration& calibration, Estimate& estimate);

}  // namespace foretoken

#endif  // FORETOKEN_ESTIMATOR_CALIBRATION_CALIBRATION_H_
