// What a registration of hardware must keep beside the rules of its own fields: those that need the rest of the
// catalog.
#ifndef FORETOKEN_SERVER_RPC_REGISTER_REGISTRATION_CHECKS_H_
#define FORETOKEN_SERVER_RPC_REGISTER_REGISTRATION_CHECKS_H_

#include "absl/status/status.h"
#include "foretoken/v1/catalog_service.pb.h"
#include "server/catalog/entries/snapshot.h"

namespace foretoken::rpc {

// Of what the caller states: calibrations are of this version of the core model; no linear profile of a model that the
// catalog knows decodes faster than 0.95 of the speed of light, by the figures that the spec states; the gate is a
// share. (A profile that is learned is held against the light sample by sample.)
//
// Errors: kInvalidField with every violation.
absl::Status CheckRegistration(const v1::RegisterHardwareRequest& request, const catalog::Snapshot& snapshot);

// Every calibration has an id of its own: none of the same spec, of other hardware or of what ships has it, but for the
// shipped one in whose place it answers.
//
// Errors: kInvalidField with every violation, naming the holder.
absl::Status CheckCalibrationIds(const v1::HardwareSpec& spec, const catalog::Snapshot& snapshot);

}  // namespace foretoken::rpc

#endif  // FORETOKEN_SERVER_RPC_REGISTER_REGISTRATION_CHECKS_H_
