#include "estimator/serving/dynamic_batch.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "estimator/base/errors.h"
#include "estimator/serving/batch.h"

namespace foretoken {
namespace {

// Mean sequences of the batches that run: the batch that forms while nothing runs, or, if such a batch takes longer
// than its arrivals, the smallest batch that keeps up with the arrivals. Larger batches serve more requests per second.
double RunningBatchSize(const Replica& replica, double formed, double most, double rate) {
  constexpr double kClose = 1e-7;
  const auto keeps_up = [&](double batch) { return rate * TimeBatch(replica, batch).Total().value() <= batch; };
  if (keeps_up(formed)) return formed;
  double low = formed;
  double high = most;
  while (high - low > kClose * high) {
    const double middle = (low + high) / 2;
    (keeps_up(middle) ? high : low) = middle;
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

}  // namespace

BatchFormation FormBatch(double rate, double most, std::optional<Seconds> window) {
  if (!window) return {.sequences = most, .wait = Seconds((most - 1) / (2 * rate))};
  const double mean = rate * window->value();
  // Terms of the sums below ten standard deviations under the mean are 1 to rounding.
  const double first = std::clamp(std::floor(mean - 10 * std::sqrt(mean)), 0.0, most - 1);
  double at_most = 0;                       // P(N <= k)
  double later = first;                     // E[min(N, most - 1)] = rate * E[time to the start], by Wald
  double waited = first * (first - 1) / 2;  // rate * E[wait of the arrivals after the first]
  for (double k = first; k < most - 1; ++k) {
    at_most += mean > 0 ? std::exp(k * std::log(mean) - mean - std::lgamma(k + 1)) : 1;
    const double more = std::max(0.0, 1 - at_most);
    if (k > mean && more < 1e-12) break;
    later += more;
    waited += k * more;
  }
  return {.sequences = 1 + later, .wait = Seconds((later + waited) / rate / (1 + later))};
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
  const double sequences = RunningBatchSize(replica, formation.sequences, most, rate);
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
