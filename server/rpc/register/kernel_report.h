// What a registration tells of its kernels, and what its calibrations rest on.
#ifndef FORETOKEN_SERVER_RPC_REGISTER_KERNEL_REPORT_H_
#define FORETOKEN_SERVER_RPC_REGISTER_KERNEL_REPORT_H_

#include <vector>

#include "estimator/fit/engine_kernels_fit.h"
#include "estimator/fit/fit.h"
#include "foretoken/v1/catalog_service.pb.h"

namespace foretoken::rpc {

// Adds the errors, rejections and doubts of a fit. `indices`: of its kernels in the request.
void ReportKernels(const EngineKernelsFit& fit, const std::vector<int>& indices, const v1::CalibrationSpec& calibration,
                   v1::CalibrationReport& report);

// Adds what prefill and decode of a calibration rest on: `kernels` (null: none) and `runs`, those that were used.
// `replaced`: runs of the calibration in whose place it answers.
void ReportEvidence(const v1::CalibrationSpec& calibration, const EngineKernelsFit* kernels,
                    const std::vector<Sample>& runs, int replaced, v1::CalibrationReport& report);

}  // namespace foretoken::rpc

#endif  // FORETOKEN_SERVER_RPC_REGISTER_KERNEL_REPORT_H_
