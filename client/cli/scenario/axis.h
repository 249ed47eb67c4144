// One dimension of a sweep from its flag.
//
//   workload.batch_size=1,2,4,8       numbers
//   batch=1..256:log:9                9 numbers of equal ratio from 1 to 256, both included
//   tp=1..64:lin:8                    8 numbers of equal difference
//   output-tokens=1..16               every whole number
//   hardware_id=a,b  weight-dtype=bf16,fp8  engine=vllm@0.12.0,sglang
//
// A field is called as its flag, by its own name or by its path inside the scenario, which the server judges.
#ifndef FORETOKEN_CLIENT_CLI_SCENARIO_AXIS_H_
#define FORETOKEN_CLIENT_CLI_SCENARIO_AXIS_H_

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "foretoken/v1/sweep.pb.h"

namespace foretoken::cli {

// Errors: INVALID_ARGUMENT: not of the form above, or a value that is no number or dtype where one is needed.
absl::StatusOr<v1::SweepAxis> ParseAxis(std::string_view text);

}  // namespace foretoken::cli

#endif  // FORETOKEN_CLIENT_CLI_SCENARIO_AXIS_H_
