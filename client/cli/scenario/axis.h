// Parses one axis of a sweep.
//
//   workload.batch_size=1,2,4,8       numbers
//   batch=1..256:log:9                9 numbers from 1 to 256 with equal ratios
//   tp=1..64:lin:8                    8 numbers from 1 to 64 with equal differences
//   output-tokens=1..16               every whole number from 1 to 16
//   hardware_id=a,b  weight-dtype=bf16,fp8  engine=vllm@0.12.0,sglang  batching=static,continuous  unfused=true,false
//
// The field is the name of a flag, a field name, or a path in the scenario. The server checks the path.
#ifndef FORETOKEN_CLIENT_CLI_SCENARIO_AXIS_H_
#define FORETOKEN_CLIENT_CLI_SCENARIO_AXIS_H_

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "foretoken/v1/sweep.pb.h"

namespace foretoken::cli {

// Errors: INVALID_ARGUMENT: none of these forms, or a value that is not of the type of the field.
absl::StatusOr<v1::SweepAxis> ParseAxis(std::string_view text);

}  // namespace foretoken::cli

#endif  // FORETOKEN_CLIENT_CLI_SCENARIO_AXIS_H_
