// Counts a simulation: latencies of requests that end while it measures, and what the replica did meanwhile. Requests
// that end before are the warm-up.
#ifndef FORETOKEN_ESTIMATOR_SIMULATION_TALLY_H_
#define FORETOKEN_ESTIMATOR_SIMULATION_TALLY_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "estimator/scenario/scenario.h"
#include "estimator/simulation/statistics.h"

namespace foretoken {

// One request as its client saw it. Seconds.
struct SimulatedRequest {
  double arrival = 0;
  int prompt_tokens = 0;
  int output_tokens = 0;
  double ttft = 0;
  std::optional<double> tpot;  // absent: one output token
  double e2e = 0;

  bool operator==(const SimulatedRequest&) const = default;
};

// What ran for some time: of one step, or several equal ones.
struct Occupancy {
  double seconds = 0;
  double running = 0;   // sequences, those whose prompts run included
  double waiting = 0;   // requests in the queue
  double kv_share = 0;  // of the KV cache, on average and at most
  double most_kv_share = 0;
  double tokens = 0;  // output tokens that the time ends with
};

class Tally {
 public:
  struct Plan {
    int64_t warmup = 0;
    int64_t requests = 0;
    std::optional<double> relative_error;
    std::optional<Slo> slo;
    bool rows = false;
  };

  explicit Tally(const Plan& plan);

  void Spend(const Occupancy& occupancy);
  // Gaps before output tokens: `count` of them, from `first` to `last` along a line.
  void Gaps(double first, double last, double count);
  void Complete(const SimulatedRequest& request);

  // All requests are counted, or their times are known as well as the plan asks.
  bool Enough() const { return done_ >= plan_.requests || precise_; }
  bool precise() const { return precise_; }

  // Of the measured time.
  int64_t requests() const { return done_; }
  double seconds() const { return seconds_; }
  double good_requests() const { return good_; }
  double tokens() const { return tokens_; }
  double MeanRunning() const { return Mean(running_); }
  double MeanWaiting() const { return Mean(waiting_); }
  double MeanKvShare() const { return Mean(kv_share_); }
  double most_waiting() const { return most_waiting_; }
  double most_kv_share() const { return most_kv_share_; }

  std::optional<SimulatedTimes> Ttft() const { return TimesOf(ttft_); }
  std::optional<SimulatedTimes> Tpot() const { return TimesOf(tpot_); }
  std::optional<SimulatedTimes> E2e() const { return TimesOf(e2e_); }
  std::optional<SimulatedTimes> Itl() const { return gaps_.Times(); }
  std::vector<SimulatedRequest>& rows() { return rows_; }

 private:
  bool Measuring() const { return ended_ >= plan_.warmup; }
  bool IsGood(const SimulatedRequest& request) const;
  bool IsPrecise() const;
  double Mean(double integral) const { return seconds_ > 0 ? integral / seconds_ : 0; }

  Plan plan_;
  int64_t ended_ = 0;
  int64_t done_ = 0;        // counted
  int64_t next_check_ = 0;  // of precision, at so many
  bool precise_ = false;
  double good_ = 0, seconds_ = 0, running_ = 0, waiting_ = 0, kv_share_ = 0, tokens_ = 0;
  double most_waiting_ = 0, most_kv_share_ = 0;
  std::vector<double> ttft_, tpot_, e2e_;
  GapCounts gaps_;
  int64_t batch_ = 1;  // counted requests of a batch of gaps
  std::vector<SimulatedRequest> rows_;
};

}  // namespace foretoken

#endif  // FORETOKEN_ESTIMATOR_SIMULATION_TALLY_H_
