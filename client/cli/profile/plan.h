// Which loads to measure, the most telling first.
#ifndef FORETOKEN_CLIENT_CLI_PROFILE_PLAN_H_
#define FORETOKEN_CLIENT_CLI_PROFILE_PLAN_H_

#include <vector>

#include "absl/status/statusor.h"
#include "client/cli/profile/load.h"
#include "client/client.h"

namespace foretoken::cli {

// Bounds of the loads.
struct PlanLimits {
  int longest_prompt = 2048;  // tokens, 32 to 131,072
  int longest_output = 256;   // tokens, 16 to 4,096
  int most_concurrent = 64;   // 1 to 1,024
  int longest_sequence = 0;   // prompt and output together; 0: no limit
};

struct PlannedLoad {
  LoadPoint point;
  double seconds = 0;  // predicted, of one run
};

// Closed loops over powers of two of concurrency and of four of lengths, each with outputs all alike and with lengths
// that differ. An order of them in which each tells the most for its time, given those before it: the next one adds
// the most to the logarithm of the determinant of the information about the constants of the model, for each second
// (D-optimal design: Fedorov, Theory of Optimal Experiments, 1972). What a load tells about compute, memory,
// communication and host of a phase is how large a part of its TTFT and TPOT they are, which BatchEstimate answers:
// the elasticity of the time to that constant. Loads that cannot be estimated are left out.
//
// `base` has the model, the hardware and the deployment. Errors: those of BatchEstimate; FAILED_PRECONDITION: no load
// can be estimated, with the reason of the first.
absl::StatusOr<std::vector<PlannedLoad>> MakePlan(const client::Client& client, const v1::Scenario& base,
                                                  const PlanLimits& limits);

// The loads that a plan chooses from: fewer than the 1,000 that one BatchEstimate takes.
std::vector<LoadPoint> CandidateLoads(const PlanLimits& limits);

// The workload of a load, as estimates take it.
v1::Workload WorkloadOf(const LoadPoint& point);

}  // namespace foretoken::cli

#endif  // FORETOKEN_CLIENT_CLI_PROFILE_PLAN_H_
