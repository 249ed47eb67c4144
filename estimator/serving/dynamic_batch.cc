#include "estimator/serving/dynamic_batch.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "estimator/base/errors.h"
#include "estimator/serving/batch.h"

namespace foretoken {
namespace {

// Mean sequences of the batches that run: those gathered, or, where a batch takes longer than that, those that arrive
// while one runs. The smallest batch that serves what arrives meanwhile; larger ones serve more per second.
double RunningBatchSize(const Replica& replica, double gathered, double most, double rate) {
  constexpr double kClose = 1e-7;
  const auto keeps_up = [&](double batch) { return rate * TimeBatch(replica, batch).Total().value() <= batch; };
  if (keeps_up(gathered)) return gathered;
  double low = gathered;
  double high = most;
  while (high - low > kClose * high) {
    const double middle = (low + high) / 2;
    (keeps_up(middle) ? high : low) = middle;
  }
  return high;
}

// Mean wait of full batches for those before them, at a share `load` of the time busy: Kingman's formula for arrivals
// of whole batches (c_a^2 = 1/most) and constant service, with the factor of Kraemer and Langenbach-Belz for arrivals
// more regular than Poisson's.
Seconds WaitForBatches(Seconds full, double most, double load) {
  const double variation = 1 / most;
  const double regular = -2 * (1 - load) * (1 - variation) * (1 - variation) / (3 * load * variation);
  return full * (load / (1 - load) * variation / 2 * std::exp(regular));
}

}  // namespace

BatchFormation FormBatch(double rate, double most, std::optional<Seconds> window) {
  if (!window) return {.sequences = most, .wait = Seconds((most - 1) / (2 * rate))};
  const double mean = rate * window->value();
  // Fewer arrivals than ten deviations below the mean never happen: those terms of the sums are 1.
  const double first = std::clamp(std::floor(mean - 10 * std::sqrt(mean)), 0.0, most - 1);
  double at_most = 0;                       // P(N <= k)
  double later = first;                     // E[min(N, most - 1)] = rate * E[time to the start], by Wald
  double waited = first * (first - 1) / 2;  // rate * E[time that those after the first have waited]
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
  const BatchFormation gathering = FormBatch(rate, most, w.batching_window);
  const double sequences = RunningBatchSize(replica, gathering.sequences, most, rate);
  Served served = ServedAlone(replica, sequences);
  const Seconds one = served.prefill.Total() + served.decode.Total();
  // A request that finds the engine idle waits for its batch to gather, else for the batch that runs, if that is
  // longer; near saturation also for whole batches before.
  const double busy = std::min(1.0, rate * one.value() / sequences);
  served.prefill.queueing += (1 - busy) * gathering.wait + busy * std::max(gathering.wait, one / 2);
  served.prefill.queueing += WaitForBatches(full, most, load);
  served.requests_per_second = *w.request_rate_per_second;
  return served;
}

}  // namespace foretoken
