// What a registration learns from its samples and kernels: a linear profile where samples share one model and
// deployment, and a calibration of the core model per engine.
#ifndef FORETOKEN_SERVER_RPC_REGISTER_LEARN_H_
#define FORETOKEN_SERVER_RPC_REGISTER_LEARN_H_

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "estimator/base/cancelled.h"
#include "foretoken/v1/catalog_service.pb.h"
#include "server/catalog/entries/hardware_draft.h"
#include "server/catalog/entries/snapshot.h"

namespace foretoken::rpc {

// Whether the request has anything to learn from.
bool HasMeasurements(const v1::RegisterHardwareRequest& request);

// Learns from the request's samples and kernels, puts what it learned into `draft`, beside what the draft inherits, and
// the reports into `response`. Where the calibration comes closer to the samples than the profile does, it supersedes
// the profile. REQUIRES: HasMeasurements, and the snapshot has caught up with the store.
//
// Errors: kInvalidField with every violation; kLimitExceeded; kUnknownId: a model; kInsufficientSamples: for both;
// kPoorFit; CANCELLED: the caller gave up.
absl::Status LearnFromSamples(const v1::RegisterHardwareRequest& request, const catalog::Snapshot& snapshot,
                              absl::Time now, Cancelled cancelled, catalog::HardwareDraft& draft,
                              v1::RegisterHardwareResponse& response);

}  // namespace foretoken::rpc

#endif  // FORETOKEN_SERVER_RPC_REGISTER_LEARN_H_
