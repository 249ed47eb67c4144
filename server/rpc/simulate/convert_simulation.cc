#include "server/rpc/simulate/convert_simulation.h"

#include <string>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "estimator/base/errors.h"
#include "estimator/base/violations.h"
#include "server/rpc/wire/convert.h"

namespace foretoken::rpc {
namespace {

constexpr std::string_view kSimulation = "simulation.";

constexpr v1::SimulationEnd TwinOf(SimulationEnd value) {
  switch (value) {
    case SimulationEnd::kUnspecified:
      return v1::SIMULATION_END_UNSPECIFIED;
    case SimulationEnd::kRequests:
      return v1::SIMULATION_END_REQUESTS;
    case SimulationEnd::kPrecision:
      return v1::SIMULATION_END_PRECISION;
    case SimulationEnd::kMaxSteps:
      return v1::SIMULATION_END_MAX_STEPS;
  }
  return static_cast<v1::SimulationEnd>(-1);
}

// Whether our values match the API's from 0 to its last one, so that either may be cast to the other.
template <typename Ours>
constexpr bool AreTwins(int api_size) {
  for (int api = 0; api < api_size; ++api) {
    if (TwinOf(static_cast<Ours>(api)) != api) return false;
  }
  return true;
}

static_assert(AreTwins<SimulationEnd>(v1::SimulationEnd_ARRAYSIZE));

OutputLengthDistribution ReadDistribution(const v1::OutputLengthDistribution& message) {
  OutputLengthDistribution lengths{.mean_tokens = message.mean_tokens()};
  if (message.has_max_tokens()) lengths.max_tokens = message.max_tokens();
  lengths.quantiles.reserve(static_cast<size_t>(message.quantiles_size()));
  for (const auto& quantile : message.quantiles()) {
    lengths.quantiles.push_back({.probability = quantile.probability(), .tokens = quantile.tokens()});
  }
  return lengths;
}

LogNormalLengths ReadLogNormal(const v1::LengthDistribution::LogNormal& message) {
  LogNormalLengths lengths{.mean = message.mean_tokens(), .cv = message.coefficient_of_variation()};
  if (message.has_max_tokens()) lengths.max_tokens = message.max_tokens();
  return lengths;
}

Lengths ReadLengths(const v1::LengthDistribution& message, const std::string& field, FieldChecker& fields) {
  switch (message.shape_case()) {
    case v1::LengthDistribution::kFixedTokens:
      return FixedLength{message.fixed_tokens()};
    case v1::LengthDistribution::kUniform:
      return UniformLengths{.low = message.uniform().low_tokens(), .high = message.uniform().high_tokens()};
    case v1::LengthDistribution::kLogNormal:
      return ReadLogNormal(message.log_normal());
    case v1::LengthDistribution::kDistribution:
      return ReadDistribution(message.distribution());
    case v1::LengthDistribution::SHAPE_NOT_SET:
      fields.Add(field, absl::StrCat(field,
                                     " states no lengths; fixed_tokens, uniform, log_normal or distribution is "
                                     "required"));
  }
  return {};
}

ClosedLoop ReadClosedLoop(const v1::Simulation::ClosedLoop& message) {
  ClosedLoop loop{.staggered = message.staggered()};
  if (message.has_concurrency()) loop.concurrency = message.concurrency();
  return loop;
}

OpenLoop ReadOpenLoop(const v1::Simulation::OpenLoop& message) {
  OpenLoop loop;
  if (message.has_requests_per_second()) loop.requests_per_second = message.requests_per_second();
  if (message.has_coefficient_of_variation()) loop.cv = message.coefficient_of_variation();
  return loop;
}

Trace ReadTrace(const v1::Simulation::Trace& message) {
  Trace trace;
  trace.requests.reserve(static_cast<size_t>(message.requests_size()));
  for (const auto& request : message.requests()) {
    trace.requests.push_back({.arrival_seconds = request.arrival_seconds(),
                              .prompt_tokens = request.prompt_tokens(),
                              .output_tokens = request.output_tokens()});
  }
  return trace;
}

Arrivals ReadArrivals(const v1::Simulation& message) {
  if (message.has_closed_loop()) return ReadClosedLoop(message.closed_loop());
  if (message.has_open_loop()) return ReadOpenLoop(message.open_loop());
  if (message.has_trace()) return ReadTrace(message.trace());
  return {};
}

bool StatesRun(const v1::SimulateRequest& request) { return request.scenario().workload().has_closed_loop_requests(); }

bool IsLoop(const v1::SimulateRequest& request) {
  const v1::Simulation& message = request.simulation();
  if (message.has_closed_loop()) return true;
  if (message.has_open_loop() || message.has_trace()) return false;
  return !request.scenario().workload().has_request_rate_per_second();
}

SchedulerSpec ReadScheduler(const v1::Scheduler& message, FieldChecker& fields) {
  SchedulerSpec spec;
  spec.policy = ReadSchedulerPolicy("scheduler.policy", message.policy(), fields);
  if (message.has_max_num_batched_tokens()) spec.max_num_batched_tokens = message.max_num_batched_tokens();
  if (message.has_max_num_seqs()) spec.max_num_seqs = message.max_num_seqs();
  if (message.has_kv_block_tokens()) spec.kv_block_tokens = message.kv_block_tokens();
  if (message.has_kv_tokens()) spec.kv_tokens = message.kv_tokens();
  if (message.has_mixed_chunk()) spec.mixed_chunk = message.mixed_chunk();
  if (message.has_chunked_prompt()) spec.chunked_prompt = message.chunked_prompt();
  if (message.has_max_utilization()) spec.max_utilization = message.max_utilization();
  return spec;
}

// A run that the workload states is simulated whole, unless the simulation states its own requests.
void ReadRequests(const v1::SimulateRequest& request, SimulationSpec& spec, std::vector<FieldViolation>& violations) {
  const v1::Simulation& message = request.simulation();
  const int run = request.scenario().workload().closed_loop_requests();
  const bool whole = !message.has_requests() && StatesRun(request) && IsLoop(request);
  if (whole && run > kMaxSimulatedRequests) {
    AddViolation(
        "scenario.workload.closed_loop_requests",
        absl::StrCat("closed_loop_requests ", run, "; allowed 1 to ", kMaxSimulatedRequests, " in a simulation"),
        violations);
  } else if (whole && run >= 1) {  // less is refused with the workload
    spec.requests = run;
  }
  if (message.has_requests()) spec.requests = message.requests();
  spec.whole_run = message.whole_run() || whole;
}

absl::Status CheckRows(const SimulationSpec& spec) {
  if (!spec.rows) return absl::OkStatus();
  const auto* trace = std::get_if<Trace>(&spec.arrivals);
  const size_t rows = trace != nullptr ? trace->requests.size() : static_cast<size_t>(spec.requests);
  if (rows <= kMaxSimulatedRows) return absl::OkStatus();
  return Refusal(Reason::kLimitExceeded, "simulation.include_requests",
                 absl::StrCat("include_requests of ", rows, " requests; allowed up to ", kMaxSimulatedRows));
}

void WriteScheduler(const EngineSettings& settings, v1::Scheduler& message) {
  message.set_policy(ToApi(settings.policy));
  message.set_max_num_batched_tokens(static_cast<int>(settings.step_tokens));
  message.set_max_num_seqs(static_cast<int>(settings.max_sequences));
  message.set_kv_block_tokens(settings.block_tokens);
  message.set_kv_tokens(settings.kv_tokens);
  if (settings.policy == SchedulerPolicy::kPrefillFirst) message.set_mixed_chunk(!settings.prompts_alone);
  if (settings.policy != SchedulerPolicy::kInFlight) return;
  message.set_chunked_prompt(settings.cuts_prompts);
  message.set_max_utilization(!settings.reserves_whole);
}

void WriteRow(const SimulatedRequest& row, v1::SimulatedRequest& message) {
  message.set_arrival_seconds(row.arrival);
  message.set_prompt_tokens(row.prompt_tokens);
  message.set_output_tokens(row.output_tokens);
  message.set_ttft_seconds(row.ttft);
  if (row.tpot) message.set_tpot_seconds(*row.tpot);
  message.set_e2e_seconds(row.e2e);
}

void WriteCounts(const SimulationResult& result, v1::SimulateResponse& message) {
  const EngineCounts& counts = result.counts;
  message.set_most_running_sequences(counts.most_running);
  message.set_preemptions(counts.preemptions);
  message.set_recomputed_tokens(counts.prefilled_tokens - counts.prompt_tokens);
  message.set_prefilled_tokens(counts.prefilled_tokens);
  message.set_steps(counts.steps);
}

}  // namespace

std::optional<Warning> UnusedRunWarning(const v1::SimulateRequest& request) {
  if (!StatesRun(request) || IsLoop(request)) return std::nullopt;
  return Warning{WarningCode::kNotUsed, "requests do not arrive in a closed loop, so closed_loop_requests is not used",
                 "workload.closed_loop_requests"};
}

absl::StatusOr<SimulationSpec> ReadSimulation(const v1::SimulateRequest& request) {
  const v1::Simulation& message = request.simulation();
  std::vector<FieldViolation> violations;
  FieldChecker fields(kSimulation, violations);
  SimulationSpec spec;
  if (message.has_seed()) spec.seed = message.seed();
  spec.arrivals = ReadArrivals(message);
  if (message.has_prompt_lengths()) spec.prompts = ReadLengths(message.prompt_lengths(), "prompt_lengths", fields);
  if (message.has_output_lengths()) spec.outputs = ReadLengths(message.output_lengths(), "output_lengths", fields);
  spec.scheduler = ReadScheduler(message.scheduler(), fields);
  ReadRequests(request, spec, violations);
  if (message.has_warmup_requests()) spec.warmup_requests = message.warmup_requests();
  if (message.has_max_steps()) spec.max_steps = message.max_steps();
  if (message.has_relative_error()) spec.relative_error = message.relative_error();
  spec.rows = message.include_requests();
  for (const FieldViolation& fault : FaultsOf(spec)) violations.push_back(fault);
  if (!violations.empty()) return InvalidFields(violations);
  if (absl::Status rows = CheckRows(spec); !rows.ok()) return rows;
  return spec;
}

void WriteSimulation(const SimulationResult& result, v1::SimulateResponse& message) {
  WriteServedTimes(result, message);
  message.set_output_tokens_per_second(result.output_tokens_per_second);
  message.set_requests_per_second(result.requests_per_second);
  if (result.goodput) message.set_goodput_requests_per_second(*result.goodput);
  message.set_mean_running_sequences(result.mean_running);
  message.set_mean_waiting_requests(result.mean_waiting);
  message.set_most_waiting_requests(static_cast<int>(result.most_waiting));
  message.set_mean_kv_cache_share(result.mean_kv_share);
  message.set_most_kv_cache_share(result.most_kv_share);
  WriteCounts(result, message);
  message.set_simulated_seconds(result.simulated.value());
  message.set_counted_seconds(result.counted.value());
  message.set_requests(static_cast<int>(result.requests));
  message.set_end(TwinOf(result.end));
  WriteScheduler(result.settings, *message.mutable_scheduler());
  message.mutable_request_rows()->Reserve(static_cast<int>(result.rows.size()));
  for (const SimulatedRequest& row : result.rows) WriteRow(row, *message.add_request_rows());
  for (const Warning& warning : result.warnings) WriteWarning(warning, *message.add_warnings());
}

}  // namespace foretoken::rpc
