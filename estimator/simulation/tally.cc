#include "estimator/simulation/tally.h"

#include <algorithm>

namespace foretoken {
namespace {

constexpr int64_t kFirstCheck = 500;    // counted requests before precision is looked at
constexpr double kBetweenChecks = 1.2;  // so that looking costs little beside counting

bool IsKnown(const SimulatedValue& value, double relative_error) {
  return value.error && *value.error <= relative_error * value.value;
}

bool AreKnown(const std::optional<SimulatedTimes>& times, double relative_error) {
  return times && IsKnown(times->mean, relative_error) && IsKnown(times->p90, relative_error);
}

}  // namespace

Tally::Tally(const Plan& plan) : plan_(plan), next_check_(kFirstCheck) {
  const auto count = static_cast<size_t>(plan.requests);
  ttft_.reserve(count);
  tpot_.reserve(count);
  e2e_.reserve(count);
  if (plan.rows) rows_.reserve(count);
}

void Tally::Spend(const Occupancy& o) {
  if (!Measuring()) return;
  seconds_ += o.seconds;
  running_ += o.seconds * o.running;
  waiting_ += o.seconds * o.waiting;
  kv_share_ += o.seconds * o.kv_share;
  tokens_ += o.tokens;
  most_waiting_ = std::max(most_waiting_, o.waiting);
  most_kv_share_ = std::max(most_kv_share_, o.most_kv_share);
}

void Tally::Gaps(double first, double last, double count) {
  if (!Measuring() || count <= 0) return;
  gaps_.AddLine(static_cast<size_t>(done_ / batch_), first, last, count);
}

bool Tally::IsGood(const SimulatedRequest& request) const {
  const Slo& slo = *plan_.slo;
  return !(slo.max_ttft && request.ttft > slo.max_ttft->value()) &&
         !(slo.max_tpot && request.tpot && *request.tpot > slo.max_tpot->value()) &&
         !(slo.max_e2e && request.e2e > slo.max_e2e->value());
}

bool Tally::IsPrecise() const {
  return AreKnown(TimesOf(ttft_), *plan_.relative_error) && AreKnown(TimesOf(e2e_), *plan_.relative_error);
}

void Tally::Complete(const SimulatedRequest& request) {
  if (++ended_ <= plan_.warmup || done_ >= plan_.requests) return;
  if (++done_ >= batch_ * static_cast<int64_t>(kBatches)) {
    gaps_.Halve();
    batch_ *= 2;
  }
  ttft_.push_back(request.ttft);
  e2e_.push_back(request.e2e);
  if (request.tpot) tpot_.push_back(*request.tpot);
  if (plan_.rows) rows_.push_back(request);
  if (plan_.slo && IsGood(request)) good_ += 1;
  if (!plan_.relative_error || done_ < next_check_) return;
  next_check_ = static_cast<int64_t>(static_cast<double>(done_) * kBetweenChecks);
  precise_ = IsPrecise();
}

}  // namespace foretoken
