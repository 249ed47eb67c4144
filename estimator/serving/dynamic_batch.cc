#include "estimator/serving/dynamic_batch.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "absl/strings/str_cat.h"
#include "estimator/base/errors.h"
#include "estimator/serving/batch.h"

namespace foretoken {
namespace {

// Mean sequences of the batches that run: the batch that forms while nothing runs, or, if such a batch takes longer
// than its arrivals, the smallest batch that keeps up with the arrivals. Larger batches serve more requests per second.
// The same answers many of the batches that a bisection asks for: larger batches never take less time. So a batch that
// keeps up tells of all down to what arrives while it runs, and one that does not of all up to that.
double RunningBatchSize(const Replica& replica, double formed, double most, Seconds full, double rate) {
  constexpr double kClose = 1e-7;
  constexpr int kHalvings = 100;  // more than the widest range of batches needs
  const auto arrivals = [&](double batch) { return rate * TimeBatch(replica, batch).Total().value(); };
  double falls_behind = arrivals(formed);  // batches below this, from `low` on
  if (falls_behind <= formed) return formed;
  double keeps_up = rate * full.value();  // batches from this on, up to `high`
  double low = formed;
  double high = most;
  for (int i = 0; i < kHalvings && high - low > kClose * high; ++i) {
    const double middle = (low + high) / 2;
    if (middle >= falls_behind && middle < keeps_up) {
      const double arrive = arrivals(middle);
      (arrive <= middle ? keeps_up : falls_behind) = arrive;
    }
    (middle >= keeps_up ? high : low) = middle;
  }
  return high;
}

// Mean wait of a full batch for the batches before it, if the replica is busy for the share `load` of the time:
// Kingman's formula for arrivals of whole batches (c_a^2 = 1/most) and constant service, with the factor of Kraemer and
// Langenbach-Belz for arrivals that are more regular than Poisson arrivals.
Seconds WaitForBatches(Seconds full, double most, double load) {
  const double variation = 1 / most;
  const double regular = -2 * (1 - load) * (1 - variation) * (1 - variation) / (3 * load * variation);
  return full * (load / (1 - load) * variation / 2 * std::exp(regular));
}

// The arrivals that follow the first within the window, min(N, most) of them with N from a Poisson distribution.
struct Followers {
  double joined = 0;  // E[min(N, most)] = rate * E[time to the start], by Wald
  double pairs = 0;   // E[min(N, most) (min(N, most) - 1) / 2] = rate * E[wait of the arrivals after the first]
};

// Summed term by term, over at most 17 standard deviations.
Followers CountFollowers(double mean, double most) {
  // Terms of the sums below ten standard deviations under the mean are 1 to rounding.
  const double first = std::clamp(std::floor(mean - 10 * std::sqrt(mean)), 0.0, most);
  double at_most = 0;  // P(N <= k)
  Followers n{.joined = first, .pairs = first * (first - 1) / 2};
  for (double k = first; k < most; ++k) {
    at_most += mean > 0 ? std::exp(k * std::log(mean) - mean - std::lgamma(k + 1)) : 1;
    const double more = std::max(0.0, 1 - at_most);
    if (k > mean && more < 1e-12) break;
    n.joined += more;
    n.pairs += k * more;
  }
  return n;
}

// Past this mean, N is as good as normal: both figures are within 5e-5.
constexpr double kManyArrivals = 1000;

// The same for many arrivals: moments of what a normal distribution lacks to `most`.
Followers ManyFollowers(double mean, double most) {
  const double deviation = std::sqrt(mean);
  const double d = (most - mean) / deviation;
  const double below = std::erfc(-d / std::sqrt(2.0)) / 2;  // P(N < most)
  const double density = std::exp(-d * d / 2) / std::sqrt(2 * std::numbers::pi);
  const double lacks = deviation * (d * below + density);            // E[max(0, most - N)]
  const double square = mean * ((d * d + 1) * below + d * density);  // of its square
  const double joined = most - lacks;
  return {.joined = joined, .pairs = (most * most - 2 * most * lacks + square - joined) / 2};
}

}  // namespace

BatchFormation FormBatch(double rate, double most, std::optional<Seconds> window) {
  if (!window) return {.sequences = most, .wait = Seconds((most - 1) / (2 * rate))};
  const double mean = rate * window->value();
  const Followers n = mean > kManyArrivals ? ManyFollowers(mean, most - 1) : CountFollowers(mean, most - 1);
  return {.sequences = 1 + n.joined, .wait = Seconds((n.joined + n.pairs) / rate / (1 + n.joined))};
}

absl::StatusOr<Served> ServeDynamic(const Replica& replica) {
  const Workload& w = replica.scenario.workload;
  if (!w.request_rate_per_second) {
    return Refusal(Reason::kInvalidField, "workload.request_rate_per_second", "required by dynamic batching");
  }
  const double most = replica.capacity.batch;
  if (!replica.capacity.Fits()) return OutOfMemory(replica.scenario, replica.capacity, replica.model.machine);
  const double rate = *w.request_rate_per_second / replica.scenario.deployment.data_parallel;
  const Seconds full = TimeBatch(replica, most).Total();
  const double load = rate * full.value() / most;
  if (!(load < 1)) return Unstable(replica, absl::StrCat("in batches of ", most), most / full.value());
  const BatchFormation formation = FormBatch(rate, most, w.batching_window);
  const double sequences = RunningBatchSize(replica, formation.sequences, most, full, rate);
  Served served = ServedAlone(replica, sequences);
  const Seconds one = served.prefill.Total() + served.decode.Total();
  // A request that finds the engine idle waits until its batch has formed. Otherwise it waits for the running batch, if
  // that takes longer; near saturation also for whole batches before its own.
  const double busy = std::min(1.0, rate * one.value() / sequences);
  served.prefill.queueing += (1 - busy) * formation.wait + busy * std::max(formation.wait, one / 2);
  served.prefill.queueing += WaitForBatches(full, most, load);
  served.requests_per_second = *w.request_rate_per_second;
  return served;
}

}  // namespace foretoken
