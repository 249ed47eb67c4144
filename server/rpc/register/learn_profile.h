// A linear profile out of a registration's samples: regressed, reported on, and put into the entry.
#ifndef FORETOKEN_SERVER_RPC_REGISTER_LEARN_PROFILE_H_
#define FORETOKEN_SERVER_RPC_REGISTER_LEARN_PROFILE_H_

#include <vector>

#include "absl/status/statusor.h"
#include "estimator/fit/fit.h"
#include "estimator/scenario/hardware.h"
#include "foretoken/v1/catalog_service.pb.h"

namespace foretoken::rpc {

// Whether one linear profile can describe all samples: static batches of one model and deployment. `samples` are those
// of the request. REQUIRES: there are some.
bool ShareOneProfile(const v1::RegisterHardwareRequest& request, const std::vector<Sample>& samples);

// Regresses the samples, puts the profile into `spec` (in place of one of the same model, engine and deployment) and
// fills `report`. REQUIRES: there are samples, and they share one profile.
//
// Errors: kInsufficientSamples; kInvalidField: the fitted rate is not positive.
absl::StatusOr<LinearProfile> LearnProfile(const std::vector<Sample>& samples, v1::HardwareSpec& spec,
                                           v1::ProfileReport& report);

// Notes in `spec` that a calibration answers in this profile's place.
void Supersede(const LinearProfile& profile, const std::string& calibration_id, v1::HardwareSpec& spec);

}  // namespace foretoken::rpc

#endif  // FORETOKEN_SERVER_RPC_REGISTER_LEARN_PROFILE_H_
