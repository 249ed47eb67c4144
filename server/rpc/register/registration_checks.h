// The rules of a hardware registration that need the rest of the catalog. Rules of single fields are with the parser
// (server/catalog/spec/parse.h).
#ifndef FORETOKEN_SERVER_RPC_REGISTER_REGISTRATION_CHECKS_H_
#define FORETOKEN_SERVER_RPC_REGISTER_REGISTRATION_CHECKS_H_

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "estimator/scenario/hardware.h"
#include "foretoken/v1/catalog_service.pb.h"
#include "server/catalog/entries/snapshot.h"

namespace foretoken::rpc {

// Checks what the caller states. Calibrations have to be of this version of the core model. A linear profile of a model
// in the catalog may take no less than 0.95 of the time of the speed of light, by the hardware's own figures. A profile
// that is learned is checked measurement by measurement instead. `hardware` is what the request's spec parsed to; where
// the spec did not parse, its profiles are not checked.
//
// Errors: kInvalidField with every violation.
absl::Status CheckRegistration(const v1::RegisterHardwareRequest& request, const absl::StatusOr<Hardware>& hardware,
                               const catalog::Snapshot& snapshot);

// Checks that every calibration has an id of its own. No other calibration may have the id, be it of the spec, of other
// hardware or shipped, except the shipped one that the calibration replaces.
//
// Errors: kInvalidField with every violation, naming the holder.
absl::Status CheckCalibrationIds(const v1::HardwareSpec& spec, const catalog::Snapshot& snapshot);

}  // namespace foretoken::rpc

#endif  // FORETOKEN_SERVER_RPC_REGISTER_REGISTRATION_CHECKS_H_
