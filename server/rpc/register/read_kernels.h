// Kernels of a registration as the core model's samples: every field checked.
#ifndef FORETOKEN_SERVER_RPC_REGISTER_READ_KERNELS_H_
#define FORETOKEN_SERVER_RPC_REGISTER_READ_KERNELS_H_

#include <vector>

#include "absl/status/statusor.h"
#include "estimator/fit/kernel_fit.h"
#include "foretoken/v1/catalog_service.pb.h"

namespace foretoken::rpc {

// Most kernels of one call: some seconds of fitting.
inline constexpr int kMaxKernels = 10'000;

// The request's kernels on `hardware`, which outlives them, in the request's order.
//
// Errors: kLimitExceeded; kInvalidField with every violation.
absl::StatusOr<std::vector<KernelSample>> ReadKernels(const v1::RegisterHardwareRequest& request,
                                                      const Hardware& hardware);

}  // namespace foretoken::rpc

#endif  // FORETOKEN_SERVER_RPC_REGISTER_READ_KERNELS_H_
