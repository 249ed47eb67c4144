// Converts between the API's messages and the core model's structs, one message at a time. Reading a message checks
// everything that the message alone decides, and notes each violation in `fields`. Past it every field is valid and
// every default resolved. An absent field takes its default; a field that is 0 is 0.
// Specs of models and hardware are parsed in server/catalog/spec/parse.h. scenario_resolver.h joins the parts.
#ifndef FORETOKEN_SERVER_RPC_WIRE_CONVERT_H_
#define FORETOKEN_SERVER_RPC_WIRE_CONVERT_H_

#include <optional>

#include "absl/time/time.h"
#include "estimator/scenario/estimate.h"
#include "estimator/scenario/scenario.h"
#include "foretoken/v1/estimate.pb.h"
#include "foretoken/v1/scenario.pb.h"
#include "server/catalog/spec/field_checker.h"

namespace foretoken::rpc {

using catalog::FieldChecker;

// Tokens of one sequence, and sequences.
inline constexpr int kMaxTokens = 100'000'000;
inline constexpr int kMaxBatch = 1'000'000;
// Tokens of all requests of a replica together; no machine holds as many.
inline constexpr int64_t kMaxReplicaTokens = 1'000'000'000'000;

// Nothing where it is not stated.
std::optional<SchedulerPolicy> ReadSchedulerPolicy(const std::string& field, v1::SchedulerPolicy stated,
                                                   FieldChecker& fields);
v1::SchedulerPolicy ToApi(SchedulerPolicy policy);

// Dtypes that are not given stay kUnspecified: ResolveDtypes needs the model.
Deployment ReadDeployment(const v1::Deployment& message, FieldChecker& fields);

// All but the draft itself and its deployment.
Speculation ReadSpeculation(const v1::SpeculativeDecoding& message, FieldChecker& fields);

// All but the hardware and deployment of the prefill pool.
Disaggregation ReadDisaggregation(const v1::DisaggregatedPrefill& message, FieldChecker& fields);

Workload ReadWorkload(const v1::Workload& message, FieldChecker& fields);

// How the run of a closed loop is driven: what v1::Workload and v1::ProfileSample state alike.
struct LoopFields {
  std::optional<int> prompt_spread_tokens, output_spread_tokens, closed_loop_requests;
};
template <typename Message>
LoopFields LoopFieldsOf(const Message& message) {
  LoopFields loop;
  if (message.has_prompt_spread_tokens()) loop.prompt_spread_tokens = message.prompt_spread_tokens();
  if (message.has_output_spread_tokens()) loop.output_spread_tokens = message.output_spread_tokens();
  if (message.has_closed_loop_requests()) loop.closed_loop_requests = message.closed_loop_requests();
  return loop;
}

// Reads them beside the lengths and the batch size that `workload` holds already.
void ReadLoop(const LoopFields& loop, FieldChecker& fields, Workload& workload);

LiveLoad ReadLiveLoad(const v1::LiveLoad& message, FieldChecker& fields);

// The age of a live load at `now`; below zero where the clocks of two machines differ. REQUIRES:
// message.has_time_observed().
absl::Duration ReadLiveLoadAge(const v1::LiveLoad& message, absl::Time now, FieldChecker& fields);

Slo ReadSlo(const v1::Slo& message, FieldChecker& fields);

Method ReadMethod(v1::Method method, FieldChecker& fields);

// Memory, throughput, energy and cost of an estimate: a part of WriteEstimate.
void WriteUse(const Estimate& estimate, v1::Estimate& message);

// A time of a simulation.
void WriteTimes(const SimulatedTimes& times, v1::SimulatedTimes& message);

// The four times that a simulation counts, as far as it has them: `times` is a SimulationResult or Percentiles.
template <typename Times, typename Message>
void WriteServedTimes(const Times& times, Message& message) {
  if (times.ttft) WriteTimes(*times.ttft, *message.mutable_ttft());
  if (times.tpot) WriteTimes(*times.tpot, *message.mutable_tpot());
  if (times.itl) WriteTimes(*times.itl, *message.mutable_itl());
  if (times.e2e) WriteTimes(*times.e2e, *message.mutable_e2e());
}

void WriteWarning(const Warning& warning, v1::Warning& message);
void AddWarning(const Warning& warning, v1::Estimate& message);

// Fills `message`, which is empty, with what is known; the rest stays absent.
void WriteEstimate(const Estimate& estimate, v1::Estimate& message);

}  // namespace foretoken::rpc

#endif  // FORETOKEN_SERVER_RPC_WIRE_CONVERT_H_
