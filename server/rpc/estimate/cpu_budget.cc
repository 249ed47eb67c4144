#include "server/rpc/estimate/cpu_budget.h"

#include <cmath>
#include <cstdint>

#include "absl/strings/str_cat.h"
#include "estimator/base/errors.h"
#include "estimator/methods/cpu_time.h"

namespace foretoken::rpc {

absl::Status CheckCpu(std::string_view field, double count, double steps, std::string_view what, absl::Duration budget,
                      absl::FunctionRef<Seconds()> each) {
  const double allowed = absl::ToDoubleSeconds(budget);
  const Seconds dearest = kMostCpuTime + kCpuTimeOfReading + steps * kCpuTimeOfSimulatedStep;
  if (count * dearest.value() <= allowed) return absl::OkStatus();
  const double needed = count * each().value();
  if (needed <= allowed) return absl::OkStatus();
  return Refusal(Reason::kLimitExceeded, field,
                 absl::StrCat(static_cast<int64_t>(count), " ", absl::string_view(what.data(), what.size()),
                              " need about ", std::ceil(needed), " s of CPU; allowed ", absl::FormatDuration(budget),
                              " a call (--max_cpu_per_call), enough for ",
                              static_cast<int64_t>(allowed / needed * count), " of them"));
}

Seconds CpuTimeWithReading(const Scenario* scenario) {
  return scenario == nullptr ? kCpuTimeOfReading : CpuTimeOf(*scenario) + kCpuTimeOfReading;
}

}  // namespace foretoken::rpc
