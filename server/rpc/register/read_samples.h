// Measured runs of a registration as the core model's samples: every field checked, model and dtypes resolved.
#ifndef FORETOKEN_SERVER_RPC_REGISTER_READ_SAMPLES_H_
#define FORETOKEN_SERVER_RPC_REGISTER_READ_SAMPLES_H_

#include <vector>

#include "absl/status/statusor.h"
#include "estimator/fit/fit.h"
#include "foretoken/v1/catalog_service.pb.h"
#include "server/catalog/entries/snapshot.h"

namespace foretoken::rpc {

// Most samples of one call: some seconds of fitting.
inline constexpr int kMaxSamples = 10'000;

// The request's samples on `hardware`, which outlives them as the snapshot does. A static batch that does not fit runs
// in waves, and repeats one prompt, as static benchmarks do.
//
// Errors: kLimitExceeded; kInvalidField with every violation; kUnknownId: a model.
absl::StatusOr<std::vector<Sample>> ReadSamples(const v1::RegisterHardwareRequest& request,
                                                const catalog::Snapshot& snapshot, const Hardware& hardware);

}  // namespace foretoken::rpc

#endif  // FORETOKEN_SERVER_RPC_REGISTER_READ_SAMPLES_H_
