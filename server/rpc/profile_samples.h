// Profile samples of a registration: checked, regressed to a linear profile, and reported on.
#ifndef FORETOKEN_SERVER_RPC_PROFILE_SAMPLES_H_
#define FORETOKEN_SERVER_RPC_PROFILE_SAMPLES_H_

#include "absl/status/status.h"
#include "foretoken/v1/catalog_service.pb.h"
#include "server/catalog/snapshot.h"

namespace foretoken::rpc {

// Most samples of one call.
inline constexpr int kMaxSamples = 100'000;

// Regresses the request's samples, puts the profile into `spec` (in place of one of the same model, engine and
// deployment) and fills `report`. REQUIRES: the request has samples.
//
// Errors: kInvalidField with every violation; kLimitExceeded; kUnknownId: the model; kInsufficientSamples.
absl::Status AddProfile(const v1::RegisterHardwareRequest& request, const catalog::Snapshot& snapshot,
                        v1::HardwareSpec& spec, v1::ProfileReport& report);

}  // namespace foretoken::rpc

#endif  // FORETOKEN_SERVER_RPC_PROFILE_SAMPLES_H_
