// Parameters of the core model for one engine on one device, and for the models among its samples that deviate from the
// others in their own way.
#ifndef FORETOKEN_ESTIMATOR_FIT_DEVICE_FIT_H_
#define FORETOKEN_ESTIMATOR_FIT_DEVICE_FIT_H_

#include <string>
#include <vector>

#include "estimator/fit/fit.h"
#include "estimator/fit/fit_errors.h"

namespace foretoken {

// What a fit is drawn to: the narrowest calibration known of the engine, or the generic prior.
struct FitParent {
  Efficiencies efficiencies = GenericPrior();
  Bands bands = {};  // kept where the samples are too few for their own
};

// One level: what was fitted to which samples, and how well.
struct LevelFit {
  std::string model_id;   // empty: of all models
  std::vector<int> used;  // indices of its samples
  FitResult fit;
  FitQuality quality;
};

struct DeviceFit {
  LevelFit device;
  std::vector<LevelFit> models;  // drawn to the device, by id
};

// A model deviates where at least 10 samples are of it and at least 3 of others, and what the fit to all samples leaves
// of error on those of it that a fold has not seen is more than 5%, of which parameters of its own take off at least a
// fifth, and to no metric any is added. Where two models or more do not deviate, and as many as do, the device's level
// is theirs alone. REQUIRES: every sample is usable; one or more.
DeviceFit FitDevice(const FitParent& parent, const std::vector<Sample>& samples, Cancelled cancelled = NeverAbandoned);

}  // namespace foretoken

#endif  // FORETOKEN_ESTIMATOR_FIT_DEVICE_FIT_H_
