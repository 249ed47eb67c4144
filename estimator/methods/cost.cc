#include "estimator/methods/cost.h"

namespace foretoken {
namespace {

constexpr double kSecondsPerHour = 3600;

// Price of all devices for an hour; absent if a pool states none.
std::optional<double> PricePerHour(const Scenario& scenario) {
  const Deployment& here = scenario.deployment;
  if (!here.price_per_device_hour) return std::nullopt;
  if (!scenario.disaggregation) return *here.price_per_device_hour * here.devices();
  const Disaggregation& d = *scenario.disaggregation;
  if (!d.deployment.price_per_device_hour) return std::nullopt;
  return *here.price_per_device_hour * here.devices() * d.decode_replicas +
         *d.deployment.price_per_device_hour * d.deployment.devices() * d.prefill_replicas;
}

void WarnOfOnePool(const Scenario& scenario, std::vector<Warning>& warnings) {
  if (!scenario.disaggregation) return;
  const bool here = scenario.deployment.price_per_device_hour.has_value();
  if (here == scenario.disaggregation->deployment.price_per_device_hour.has_value()) return;
  warnings.push_back(
      {WarningCode::kFigureAbsent, "one side has no price_per_device_hour, so there is no cost",
       here ? "disaggregated_prefill.deployment.price_per_device_hour" : "deployment.price_per_device_hour"});
}

}  // namespace

std::optional<CostEstimate> CostOf(const Scenario& scenario, const Throughput& throughput,
                                   std::vector<Warning>& warnings) {
  if (scenario.live_load && StatesPresent(*scenario.live_load)) return std::nullopt;
  const std::optional<double> per_hour = PricePerHour(scenario);
  if (!per_hour) WarnOfOnePool(scenario, warnings);
  if (!per_hour || !(throughput.requests_per_second > 0)) return std::nullopt;
  const double per_second = *per_hour / kSecondsPerHour;
  return CostEstimate{.per_request = per_second / throughput.requests_per_second,
                      .per_million_output_tokens = 1e6 * per_second / throughput.output_tokens_per_second};
}

}  // namespace foretoken
