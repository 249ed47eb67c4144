// Fits the parameters of the core model for one engine on one device, and for those measured models that deviate from
// the others.
#ifndef FORETOKEN_ESTIMATOR_FIT_DEVICE_FIT_H_
#define FORETOKEN_ESTIMATOR_FIT_DEVICE_FIT_H_

#include <string>
#include <string_view>
#include <vector>

#include "estimator/fit/fit.h"
#include "estimator/fit/fit_errors.h"

namespace foretoken {

// The prior of a fit: the closest known calibration of the engine, or the generic prior.
struct FitParent {
  Efficiencies efficiencies = GenericPrior();
  Bands bands = {};  // kept where there are too few measurements for bands of their own
  // Names of parameters that runs do not change, because kernels decided them.
  std::vector<std::string_view> held = {};

  FitOptions Options() const {
    FitOptions options = kHardwareFitOptions;
    options.held = held;
    return options;
  }
};

// One level: the parameters, the measurements that they were fitted to, and the errors left.
struct LevelFit {
  std::string model_id;   // empty: for all models
  std::vector<int> used;  // indices of its measurements
  FitResult fit;
  FitQuality quality;
};

struct DeviceFit {
  LevelFit device;
  std::vector<LevelFit> models;  // with the device's level as their prior, by id
};

// Fits the device's level, and a level for each model that deviates. A model deviates where all of these hold:
// - at least 10 measurements are of it, and at least 3 of other models;
// - on its held-out measurements, the fit to all measurements leaves a mean error above 5%;
// - parameters of its own reduce that error by at least a fifth, and raise the error of no metric.
// Where at least two models do not deviate, and at least as many as do, the device's level is fitted to them alone.
// REQUIRES: at least one measurement; every one is usable.
DeviceFit FitDevice(const FitParent& parent, const std::vector<Sample>& samples, Cancelled cancelled = NeverCancelled);

}  // namespace foretoken

#endif  // FORETOKEN_ESTIMATOR_FIT_DEVICE_FIT_H_
