#include "tests/validation/reliability.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "estimator/methods/slo.h"

namespace foretoken::validation {
namespace {

constexpr int kBins = 5;
constexpr double kBounds[] = {0.25, 0.35, 0.5, 0.7, 0.85, 1, 1.2, 1.4, 2, 2.8, 4};  // over the predicted time

struct Sums {
  double weight = 0;
  double probability = 0;
  double met = 0;
  int questions = 0;
};

// A row's log error against every bound; times are over the predicted one.
void Ask(const BandRatio& ratio, double log_error, double weight, std::array<Sums, kBins>& bins) {
  const Band band{.low = ratio.low, .high = ratio.high, .coverage = ratio.coverage};
  for (const double bound : kBounds) {
    const double probability = ProbabilityWithin(band, Seconds(bound));
    Sums& bin = bins[std::min(kBins - 1, static_cast<int>(probability * kBins))];
    bin.weight += weight;
    bin.probability += weight * probability;
    bin.met += log_error <= std::log(bound) ? weight : 0;
    ++bin.questions;
  }
}

}  // namespace

std::vector<ReliabilityBin> ReliabilityOf(const Predictions& predictions, int metric, const BandRule& rule) {
  std::set<std::string> left_out;
  for (const Prediction& prediction : predictions) left_out.insert(prediction.left_out);
  std::array<Sums, kBins> bins;
  for (const std::string& fold : left_out) {
    Predictions inside, others;
    for (const Prediction& p : predictions) (p.left_out == fold ? inside : others).push_back(p);
    const std::optional<BandRatio> band = BandOf(others, metric, rule);
    if (!band) continue;
    const Errors tested(inside, metric);
    for (const auto& [group, errors] : tested.groups()) {
      for (const double error : errors) Ask(*band, error, 1 / static_cast<double>(errors.size()), bins);
    }
  }
  std::vector<ReliabilityBin> found;
  for (const Sums& bin : bins) {
    if (bin.questions == 0) continue;
    found.push_back({.probability = bin.probability / bin.weight, .met = bin.met / bin.weight, .questions = bin.questions});
  }
  return found;
}

}  // namespace foretoken::validation
