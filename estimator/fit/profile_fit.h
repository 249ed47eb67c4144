// Fits a linear profile to measurements of one model, engine and deployment on one hardware. The prefill rate (PTPS) is
// the slope of the regression of tokens on prefill latency [S1]. The effective bandwidth of decode is total bytes over
// total time [ours]. Also reports how well straight lines describe the measurements.
//
//   ProfileFit fit = *FitProfile(scenario, samples);
//   LinearProfile profile = ProfileOf(scenario, fit);
#ifndef FORETOKEN_ESTIMATOR_FIT_PROFILE_FIT_H_
#define FORETOKEN_ESTIMATOR_FIT_PROFILE_FIT_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "estimator/base/units.h"
#include "estimator/scenario/hardware.h"
#include "estimator/scenario/scenario.h"

namespace foretoken {

// One measured static batch.
struct ProfileSample {
  double batch_size = 1;
  double prompt_tokens = 0;
  double output_tokens = 1;     // of each sequence, the first included
  std::optional<Seconds> ttft;  // prefill of the whole batch
  std::optional<Seconds> tpot;  // mean decode step
  std::optional<Seconds> e2e;   // whole batch
};

// y = slope x + intercept, by least squares.
struct LinearFit {
  double slope = 0;
  double intercept = 0;
  double r2 = 0;                  // 1 - residual over total sum of squares
  std::vector<double> residuals;  // y - fitted, one per sample used
  std::vector<int> samples;       // index of each
};

struct RejectedSample {
  int index = 0;
  std::string reason;
};

struct ProfileFit {
  std::optional<LinearFit> prefill;  // tokens on seconds: tokens/s and tokens
  std::optional<LinearFit> decode;   // bytes on seconds: bytes/s and bytes; absent below two different samples
  std::optional<BytesPerSecond> effective_bandwidth;  // all devices of a replica
  double min_prefill_tokens = 0;
  double max_prefill_tokens = 0;
  int decode_samples = 0;
  std::vector<RejectedSample> rejected;
};

// Straight line through (x, y). Nothing where fewer than two x differ.
std::optional<LinearFit> FitLine(const std::vector<double>& x, const std::vector<double>& y);

// Regresses both lines. `scenario` gives model, hardware and deployment; its workload is not used. Rejects a sample,
// with the reason, where a time is not finite and positive, where no time is usable, and where a time is below 0.95 of
// the roofline lower bound.
//
// Errors: kInsufficientSamples: nothing usable is left, or prefill samples without two different latencies.
// kInvalidField: the fitted prefill rate is not positive.
absl::StatusOr<ProfileFit> FitProfile(const Scenario& scenario, const std::vector<ProfileSample>& samples);

// The fitted profile of the scenario's model, engine and deployment.
LinearProfile ProfileOf(const Scenario& scenario, const ProfileFit& fit);

}  // namespace foretoken

#endif  // FORETOKEN_ESTIMATOR_FIT_PROFILE_FIT_H_
