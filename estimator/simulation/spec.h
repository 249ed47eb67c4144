// What to simulate beside the scenario: how requests arrive, how long they are, how the engine schedules, and how much
// to count.
//
//   SimulationSpec spec;                                  // the scenario's own load, with fixed lengths
//   spec.outputs = LogNormalLengths{.mean = 200, .cv = 0.8};
//   spec.arrivals = OpenLoop{.requests_per_second = 4};
#ifndef FORETOKEN_ESTIMATOR_SIMULATION_SPEC_H_
#define FORETOKEN_ESTIMATOR_SIMULATION_SPEC_H_

#include <cstdint>
#include <optional>
#include <variant>
#include <vector>

#include "estimator/base/errors.h"
#include "estimator/base/units.h"
#include "estimator/scenario/scenario.h"

namespace foretoken {

// A constant number of requests: each that ends is replaced by the next. Replicas share them evenly.
struct ClosedLoop {
  std::optional<int> concurrency;  // of the deployment; absent: the workload's batch_size
  // The first requests have outputs cut to equal steps from short to whole, so that they do not end together.
  bool staggered = false;
};

// Requests arrive at a rate, with independent gamma-distributed gaps.
struct OpenLoop {
  std::optional<double> requests_per_second;  // of the deployment; absent: the workload's rate
  double cv = 1;                              // of the gaps: 1 is Poisson, above 1 comes in bursts
};

// These requests, in order of arrival. Of `dp` replicas the first is simulated, and gets every dp-th request.
struct Trace {
  struct Request {
    double arrival_seconds = 0;
    int prompt_tokens = 1;
    int output_tokens = 1;
  };
  std::vector<Request> requests;
};

// Absent: the workload's rate as Poisson arrivals where it states one, else a closed loop of its batch_size.
using Arrivals = std::variant<std::monostate, ClosedLoop, OpenLoop, Trace>;

// Lengths in tokens, each drawn independently.
struct FixedLength {
  int tokens = 1;
};
struct UniformLengths {  // whole numbers from low to high
  int low = 1;
  int high = 1;
};
struct LogNormalLengths {
  double mean = 1;
  double cv = 0;                  // standard deviation over mean
  std::optional<int> max_tokens;  // longer draws become it
};
// Absent: the workload's. An OutputLengthDistribution is drawn as LongestOutput (output_lengths.h) takes it: by
// straight lines between quantiles; else as M u^a, by mean and maximum; else with one chance to end after each token.
using Lengths = std::variant<std::monostate, FixedLength, UniformLengths, LogNormalLengths, OutputLengthDistribution>;

// Absent fields are the engine's defaults (settings.h).
struct SchedulerSpec {
  std::optional<SchedulerPolicy> policy;
  std::optional<int> max_num_batched_tokens;  // of a step
  std::optional<int> max_num_seqs;            // that run at once
  std::optional<int> kv_block_tokens;
  std::optional<int64_t> kv_tokens;     // KV cache of a replica; absent: what its memory holds
  std::optional<bool> mixed_chunk;      // kPrefillFirst: decodes run in the steps of prompts too (--enable-mixed-chunk)
  std::optional<bool> chunked_prompt;   // kInFlight: prompts are cut to the token budget too
  std::optional<bool> max_utilization;  // kInFlight: memory is taken as it is used, and requests are evicted
};

struct SimulationSpec {
  uint64_t seed = 1;
  Arrivals arrivals;
  Lengths prompts;
  Lengths outputs;
  SchedulerSpec scheduler;
  int requests = 2000;                 // to count; a trace counts all of its own
  std::optional<int> warmup_requests;  // that end before; absent: see Settings
  // Everything from the first arrival to the last token, as a benchmark of so many requests reports it. Else a steady
  // state: requests arrive until the last counted one has ended. A trace is always a whole run.
  bool whole_run = false;
  int64_t max_steps = 1'000'000;  // with preemptions
  // Ends early once mean and p90 of TTFT and of E2E are known this well: standard error over value.
  std::optional<double> relative_error;
  bool rows = false;                  // also one row for each counted request
  bool every_step_by_itself = false;  // for tests: never several decode steps in one jump
};

// Limits that bound the work and the memory of a simulation.
inline constexpr int kMaxSimulatedRequests = 100'000;
inline constexpr int64_t kMaxSimulatedSteps = 10'000'000;
inline constexpr int kMaxSimulatedTokens = 10'000'000;  // of one prompt, of one output, of a step
inline constexpr int kMaxSimulatedSequences = 16'384;   // that run at once; also of a closed loop
inline constexpr size_t kMaxSimulatedQuantiles = 1'000;
inline constexpr int64_t kMaxSimulatedKvTokens = 1'000'000'000'000;

// Everything that is wrong with the spec by itself, with field paths as in foretoken.v1.Simulation.
std::vector<FieldViolation> FaultsOf(const SimulationSpec& spec);

// Stated options that an engine of this policy does not have. `policy`: the engine's, where the spec states none.
std::vector<FieldViolation> FaultsOfOptions(const SchedulerSpec& scheduler, SchedulerPolicy policy);

}  // namespace foretoken

#endif  // FORETOKEN_ESTIMATOR_SIMULATION_SPEC_H_
