// The serving engines that a question may name, and where to look for measurements of one that the asked hardware has
// none of.
//
//   engines.Know("vllm@0.12.0");                    // true: a name with any version
//   engines.Unknown("vlmm");                        // "unknown engine "vlmm"; did you mean vllm?"
//   engines.Nearest(h200, "nvidia", "acme@2", true);  // what was fitted to acme on another device of the same vendor
//
// A name is known where it is in the list of engines.cc. It is also known where an entry of the catalog, bundled or
// registered, has a calibration or a linear profile of the engine. So registering measurements makes a new name known.
#ifndef FORETOKEN_SERVER_CATALOG_ENTRIES_ENGINES_H_
#define FORETOKEN_SERVER_CATALOG_ENTRIES_ENGINES_H_

#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "estimator/scenario/calibration.h"
#include "estimator/scenario/hardware.h"

namespace foretoken::catalog {

struct HardwareRecord;

// Immutable.
class Engines {
 public:
  // REQUIRES: the records outlive it; so does `shipped`.
  Engines(const Calibrations& shipped, const std::vector<std::shared_ptr<const HardwareRecord>>& hardware);
  Engines(const Engines&) = delete;  // the maps look into the lists
  Engines& operator=(const Engines&) = delete;

  // Whether the name in "name@version" or "name" is known. The version may be any.
  bool Know(std::string_view engine) const;

  // What to say of an engine that is not known: it, and the nearest known names, or all where none is near.
  std::string Unknown(std::string_view engine) const;

  // The calibration of the engine that was fitted on another device of the hardware's vendor, as one of the engine
  // alone: it is of no device and has no error bands. Of several, the one of the nearest version, then of the device
  // whose memory bandwidth is nearest in ratio, then of the first id. Null: there is none, or the vendor is empty.
  const Calibration* Nearest(const Hardware& hardware, std::string_view vendor, std::string_view engine,
                             bool continuous) const;

 private:
  // A calibration on one device, for use on others.
  struct Relative {
    Calibration calibration;
    const Hardware* measured_on;
  };

  // What the entry names and has of its own.
  void AddEntry(const HardwareRecord& record);
  void AddRelative(const Calibration& calibration, const HardwareRecord& measured_on);

  using Key = std::tuple<std::string_view, std::string_view, bool>;  // vendor, engine's name, continuous

  absl::flat_hash_set<std::string_view> names_;
  absl::flat_hash_map<Key, std::vector<Relative>> relatives_;
};

}  // namespace foretoken::catalog

#endif  // FORETOKEN_SERVER_CATALOG_ENTRIES_ENGINES_H_
