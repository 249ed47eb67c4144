// A fixed set of questions asked before and after a registration, so that its caller sees what it changes.
#ifndef FORETOKEN_SERVER_RPC_REGISTER_PROBES_H_
#define FORETOKEN_SERVER_RPC_REGISTER_PROBES_H_

#include "estimator/scenario/hardware.h"
#include "foretoken/v1/catalog_service.pb.h"
#include "server/catalog/entries/snapshot.h"

namespace foretoken::rpc {

// Notes in `report` every prediction that moved by more than 5% from `before` to `after`, for each engine of the
// report's calibrations. `before` null: the figures of `after`, with the calibrations that ship for their engines.
void CompareProbes(const catalog::Snapshot& snapshot, const Hardware* before, const Hardware& after,
                   v1::CalibrationReport& report);

}  // namespace foretoken::rpc

#endif  // FORETOKEN_SERVER_RPC_REGISTER_PROBES_H_
