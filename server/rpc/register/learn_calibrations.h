// The core model's parameters out of a registration's samples and kernels: fitted per engine and way of batching,
// reported on, and put into the entry.
#ifndef FORETOKEN_SERVER_RPC_REGISTER_LEARN_CALIBRATIONS_H_
#define FORETOKEN_SERVER_RPC_REGISTER_LEARN_CALIBRATIONS_H_

#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "estimator/fit/fit.h"
#include "estimator/fit/kernel_fit.h"
#include "foretoken/v1/catalog_service.pb.h"
#include "server/catalog/entries/snapshot.h"

namespace foretoken::rpc {

// The parsed samples and kernels of a request, in its order, on one hardware.
struct Measured {
  const Hardware& hardware;
  std::vector<Sample> runs;
  std::vector<KernelSample> kernels;
};

// Whose calibrations are learned: of engines and ways of batching with runs, or of those with kernels alone.
enum class Learn { kFromRuns, kFromKernelsAlone };

// Fits what was measured in groups of one engine and way of batching; kernels are of continuous batching. Kernels
// decide the constants of their operators, runs the others. Each fit is drawn towards the narrowest shipped calibration
// of its engine. Puts the calibrations into `spec` in place of older ones of the same engine, and fills `report` except
// its moved predictions (probes.h).
//
// Errors: kInsufficientSamples, naming the engine; kPoorFit: the fit does not explain its samples, or an error is above
// the request's max_median_ape; CANCELLED: the caller gave up.
absl::Status LearnCalibrations(const v1::RegisterHardwareRequest& request, const Measured& measured, Learn which,
                               const catalog::Snapshot& snapshot, absl::Time now, Cancelled cancelled,
                               v1::HardwareSpec& spec, v1::CalibrationReport& report);

}  // namespace foretoken::rpc

#endif  // FORETOKEN_SERVER_RPC_REGISTER_LEARN_CALIBRATIONS_H_
