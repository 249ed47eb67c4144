#include "estimator/simulation/simulation.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "estimator/base/errors.h"
#include "estimator/step/step_model.h"

namespace foretoken {
namespace {

absl::Status NotSimulated(const char* field, const char* what) {
  return Refusal(Reason::kNotModelled, field, absl::StrCat(what, " is not simulated"));
}

absl::Status CheckDeployment(const Scenario& scenario) {
  if (scenario.speculation) return NotSimulated("speculative_decoding", "speculative decoding");
  if (scenario.disaggregation) return NotSimulated("disaggregated_prefill", "disaggregated prefill");
  if (scenario.deployment.pipeline_parallel > 1) {
    return NotSimulated("deployment.pipeline_parallel", "pipeline parallelism");
  }
  if (scenario.live_load && StatesPresent(*scenario.live_load)) {
    return NotSimulated("live_load", "a live load with a present state");
  }
  if (scenario.live_load && scenario.live_load->max_num_seqs.value_or(0) > kMaxSimulatedSequences) {
    return Refusal(Reason::kInvalidField, "live_load.max_num_seqs",
                   absl::StrCat("a simulation of max_num_seqs ", *scenario.live_load->max_num_seqs, "; allowed 1 to ",
                                kMaxSimulatedSequences));
  }
  if (scenario.method == Method::kLinearProfile || scenario.method == Method::kKpi) {
    return NotSimulated("method", "a reference method");
  }
  return absl::OkStatus();
}

absl::Status CheckWorkload(const Workload& workload, const SimulationSpec& spec) {
  if (workload.batching != BatchingPolicy::kContinuous) {
    return NotSimulated("workload.batching_policy", "a policy other than continuous batching");
  }
  if (!workload.keeps_kv_cache() || workload.prefills_on_arrival()) {
    return NotSimulated("workload.kv_cache_mode", "this mode of the KV cache");
  }
  if (workload.prefix_load) {
    return NotSimulated("workload.prefix_load_bytes_per_second", "the load of prefixes");
  }
  const auto* loop = std::get_if<ClosedLoop>(&spec.arrivals);
  const bool by_batch = std::holds_alternative<std::monostate>(spec.arrivals) && !workload.request_rate_per_second;
  if ((by_batch || (loop != nullptr && !loop->concurrency)) && workload.batch_size > kMaxSimulatedSequences) {
    return Refusal(
        Reason::kInvalidField, "workload.batch_size",
        absl::StrCat("a simulation of batch_size ", workload.batch_size, "; allowed 1 to ", kMaxSimulatedSequences));
  }
  const auto* open = std::get_if<OpenLoop>(&spec.arrivals);
  if (open != nullptr && !open->requests_per_second && !workload.request_rate_per_second) {
    return Refusal(Reason::kInvalidField, "simulation.open_loop.requests_per_second",
                   "requests_per_second is required where the workload states no rate");
  }
  return absl::OkStatus();
}

absl::Status TokensOutside(const char* field, double tokens) {
  return Refusal(Reason::kInvalidField, field,
                 absl::StrCat("a simulation of ", tokens, " tokens; allowed 1 to ", kMaxSimulatedTokens));
}

// The lengths that the workload states, where the spec does not.
absl::Status CheckLengths(const Workload& workload, const SimulationSpec& spec) {
  constexpr double kMost = kMaxSimulatedTokens;
  if (std::holds_alternative<std::monostate>(spec.prompts)) {
    const int tokens = workload.prompt_tokens;
    if (tokens < 1 || tokens > kMost) return TokensOutside("workload.prompt_tokens", tokens);
  }
  if (!std::holds_alternative<std::monostate>(spec.outputs)) return absl::OkStatus();
  if (!workload.output_lengths) {
    const int tokens = workload.output_tokens;
    return tokens > kMost ? TokensOutside("workload.output_tokens", tokens) : absl::OkStatus();
  }
  const OutputLengthDistribution& lengths = *workload.output_lengths;
  double longest = std::max(lengths.mean_tokens, lengths.max_tokens.value_or(0));
  if (!lengths.quantiles.empty()) longest = std::max(longest, lengths.quantiles.back().tokens);
  return longest > kMost ? TokensOutside("workload.output_length_distribution", longest) : absl::OkStatus();
}

absl::Status CheckSimulated(const Scenario& scenario, const SimulationSpec& spec) {
  if (absl::Status valid = InvalidFields(FaultsOf(spec)); !valid.ok()) return valid;
  if (absl::Status supported = CheckSupported(*scenario.model, "model_id"); !supported.ok()) return supported;
  if (absl::Status covered = CheckDeployment(scenario); !covered.ok()) return covered;
  if (absl::Status lengths = CheckLengths(scenario.workload, spec); !lengths.ok()) return lengths;
  return CheckWorkload(scenario.workload, spec);
}

// A trace is a whole run of the requests that reach the simulated replica.
SimulationSpec Resolved(const Scenario& scenario, SimulationSpec spec) {
  const auto* trace = std::get_if<Trace>(&spec.arrivals);
  if (trace == nullptr) return spec;
  const auto replicas = static_cast<size_t>(scenario.deployment.data_parallel);
  spec.whole_run = true;
  spec.warmup_requests.reset();
  spec.requests = static_cast<int>((trace->requests.size() + replicas - 1) / replicas);
  return spec;
}

// A closed loop turns over twice, and a rate serves a quarter of the requests, before counting begins.
int64_t WarmupOf(const Scenario& scenario, const SimulationSpec& spec) {
  if (spec.warmup_requests) return *spec.warmup_requests;
  if (spec.whole_run) return 0;
  const int64_t loop = LoopOf(scenario, spec);
  return loop > 0 ? 2 * loop : spec.requests / 4;
}

// Requests in all. Of a rate, those past the last counted one and a full batch never begin, because requests begin in
// the order of their arrival: without them a rate beyond what is served would make a queue of any length.
std::optional<int64_t> MostRequests(const Scenario& scenario, const SimulationSpec& spec,
                                    const EngineSettings& settings) {
  const int64_t ended = spec.requests + WarmupOf(scenario, spec);
  if (spec.whole_run) return ended;
  if (LoopOf(scenario, spec) > 0) return std::nullopt;
  return ended + settings.max_sequences;
}

SimulationEnd EndOf(const Tally& tally, int64_t requests) {
  if (tally.requests() >= requests) return SimulationEnd::kRequests;
  return tally.precise() ? SimulationEnd::kPrecision : SimulationEnd::kMaxSteps;
}

void FillCounts(const Scenario& scenario, Tally& tally, SimulationResult& result) {
  result.ttft = tally.Ttft();
  result.tpot = tally.Tpot();
  result.itl = tally.Itl();
  result.e2e = tally.E2e();
  result.requests = tally.requests();
  result.counted = Seconds(tally.seconds());
  if (tally.seconds() > 0) {
    const double replicas = scenario.deployment.data_parallel;
    result.output_tokens_per_second = replicas * tally.tokens() / tally.seconds();
    result.requests_per_second = replicas * static_cast<double>(tally.requests()) / tally.seconds();
    if (scenario.slo) result.goodput = replicas * tally.good_requests() / tally.seconds();
  }
  result.mean_running = tally.MeanRunning();
  result.mean_waiting = tally.MeanWaiting();
  result.most_waiting = tally.most_waiting();
  result.mean_kv_share = tally.MeanKvShare();
  result.most_kv_share = tally.most_kv_share();
  result.rows = std::move(tally.rows());
}

const char* FieldOfLengths(const SimulationSpec& spec) {
  if (std::holds_alternative<Trace>(spec.arrivals)) return "simulation.trace.requests";
  if (!std::holds_alternative<std::monostate>(spec.outputs)) return "simulation.output_lengths";
  return std::holds_alternative<std::monostate>(spec.prompts) ? "workload.prompt_tokens" : "simulation.prompt_lengths";
}

// Of the lengths that were drawn, not those of the workload in whose place they stand.
void WarnOfLongRequests(const Model& model, const SimulationSpec& spec, SimulationResult& result) {
  const int64_t longest = result.counts.longest_request;
  if (longest <= model.max_position_embeddings.value_or(longest)) return;
  result.warnings.push_back({WarningCode::kContextTooLong,
                             absl::StrCat("a request of ", longest, " prompt and output tokens; ", model.id,
                                          " was made for ", *model.max_position_embeddings),
                             FieldOfLengths(spec)});
}

// A rate above what the replica serves makes the queue grow for as long as the simulation lasts. So many random
// arrivals are off their rate by cv / sqrt(n) of it.
void WarnOfGrowth(const Scenario& scenario, const SimulationSpec& spec, SimulationResult& result) {
  constexpr double kKeptUp = 0.95;
  constexpr double kErrors = 3;
  const auto* open = std::get_if<OpenLoop>(&spec.arrivals);
  const double stated = scenario.workload.request_rate_per_second.value_or(0);
  const bool by_workload = std::holds_alternative<std::monostate>(spec.arrivals);
  const double rate = open != nullptr ? open->requests_per_second.value_or(stated) : by_workload ? stated : 0;
  if (spec.whole_run || rate <= 0 || result.requests < 1) return;
  const double off = kErrors * (open != nullptr ? open->cv : 1) / std::sqrt(static_cast<double>(result.requests));
  if (result.requests_per_second >= rate * (kKeptUp - off)) return;
  result.warnings.push_back({WarningCode::kWaves,
                             absl::StrCat("of ", rate, " requests/s ", result.requests_per_second,
                                          " ended; the queue grows, so that times depend on how long the simulation "
                                          "lasts"),
                             "simulation.open_loop.requests_per_second"});
}

void WarnOfSteps(const SimulationSpec& spec, int64_t asked, SimulationResult& result) {
  if (result.end != SimulationEnd::kMaxSteps) return;
  result.warnings.push_back({WarningCode::kNotUsed,
                             absl::StrCat("after ", spec.max_steps, " steps ", result.requests, " of ", asked,
                                          " requests were counted; long ones are missing"),
                             "simulation.max_steps"});
}

}  // namespace

absl::StatusOr<SimulationResult> Simulate(const Scenario& scenario, const SimulationSpec& requested,
                                          const Efficiencies& efficiencies, Cancelled cancelled) {
  if (absl::Status checked = CheckSimulated(scenario, requested); !checked.ok()) return checked;
  const SimulationSpec spec = Resolved(scenario, requested);
  SimulationResult result;
  const absl::StatusOr<StepModel> model = MakeStepModel(scenario, efficiencies, &result.warnings);
  if (!model.ok()) return model.status();
  const absl::StatusOr<EngineSettings> settings = SettingsOf(scenario, spec, *model);
  if (!settings.ok()) return settings.status();
  Tally tally({.warmup = WarmupOf(scenario, spec),
               .requests = spec.requests,
               .relative_error = spec.relative_error,
               .slo = scenario.slo,
               .rows = spec.rows});
  RequestSource source(scenario, spec, efficiencies, MostRequests(scenario, spec, *settings));
  Engine engine(*settings, *model, scenario.workload.cached_prefix_tokens, source, tally);
  if (absl::Status ran = engine.Run(spec.max_steps, spec.every_step_by_itself, cancelled); !ran.ok()) return ran;
  FillCounts(scenario, tally, result);
  result.waiting_at_end = static_cast<double>(engine.waiting());
  result.simulated = Seconds(engine.now());
  result.counts = engine.counts();
  result.settings = *settings;
  result.end = EndOf(tally, spec.requests);
  WarnOfLongRequests(*scenario.model, spec, result);
  WarnOfGrowth(scenario, spec, result);
  WarnOfSteps(spec, spec.requests, result);
  return result;
}

}  // namespace foretoken
