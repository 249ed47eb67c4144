#include "estimator/fit/device_fit.h"

#include <array>
#include <cmath>
#include <map>
#include <numeric>
#include <utility>

namespace foretoken {
namespace {

constexpr size_t kFewestOfModel = 10;
constexpr double kWellKnown = 0.05;  // mean absolute log error: repeated measurements differ as much
constexpr double kWorthIt = 0.8;     // largest share of the error of the fit to all measurements

using Indices = std::vector<int>;

// Mean absolute values of the known errors.
struct MeanErrors {
  std::array<double, kNumMetrics> of_metric = {};
  double all = 0;
};

MeanErrors MeansOf(const std::vector<Times>& errors) {
  std::array<double, kNumMetrics> sums = {}, counts = {};
  for (const Times& error : errors) {
    for (int metric = 0; metric < kNumMetrics; ++metric) {
      if (!std::isfinite(error[metric])) continue;
      sums[metric] += std::abs(error[metric]);
      ++counts[metric];
    }
  }
  const auto mean = [](double sum, double count) { return count > 0 ? sum / count : 0; };
  MeanErrors means{
      .all = mean(std::accumulate(sums.begin(), sums.end(), 0.0), std::accumulate(counts.begin(), counts.end(), 0.0))};
  for (int metric = 0; metric < kNumMetrics; ++metric) means.of_metric[metric] = mean(sums[metric], counts[metric]);
  return means;
}

// Whether a model's own parameters reduce its errors enough, and raise those of no metric.
bool Pays(const MeanErrors& by_own, const MeanErrors& by_all) {
  for (int metric = 0; metric < kNumMetrics; ++metric) {
    if (by_own.of_metric[metric] > by_all.of_metric[metric]) return false;
  }
  return by_own.all <= kWorthIt * by_all.all;
}

// Held-out errors of one model's samples. Each is predicted by a fit to the model's other samples, whose parent is the
// fold that did not see it either.
std::vector<Times> ErrorsByOwn(const FitOptions& options, const std::vector<Efficiencies>& folds,
                               const std::vector<Sample>& samples, const Indices& of_model, Cancelled cancelled) {
  std::vector<Efficiencies> own;
  for (size_t fold = 0; fold < folds.size(); ++fold) {
    Indices kept = of_model;
    std::erase_if(kept, [&](int index) { return static_cast<size_t>(index) % folds.size() == fold; });
    own.push_back(Fit(folds[fold], Pick(samples, kept), options, cancelled).efficiencies);
  }
  return HeldOutErrors(own, samples, of_model);
}

// A model that deviates: its samples, and their held-out errors by parameters of its own.
struct Deviation {
  Indices of_model;
  std::vector<Times> held_out;
};

std::map<std::string, Indices> ByModel(const std::vector<Sample>& samples) {
  std::map<std::string, Indices> by_model;
  for (size_t i = 0; i < samples.size(); ++i) by_model[samples[i].scenario.model->id].push_back(static_cast<int>(i));
  return by_model;
}

// The models that deviate, by id.
std::map<std::string, Deviation> Deviations(const FitOptions& options, const std::vector<Efficiencies>& folds,
                                            const std::map<std::string, Indices>& by_model,
                                            const std::vector<Sample>& samples, Cancelled cancelled) {
  std::map<std::string, Deviation> deviations;
  for (const auto& [id, of_model] : by_model) {
    if (cancelled()) break;
    if (of_model.size() < kFewestOfModel || samples.size() - of_model.size() < kFewestSamples) continue;
    const MeanErrors by_all = MeansOf(HeldOutErrors(folds, samples, of_model));
    if (by_all.all <= kWellKnown) continue;
    std::vector<Times> held_out = ErrorsByOwn(options, folds, samples, of_model, cancelled);
    if (Pays(MeansOf(held_out), by_all)) deviations[id] = {of_model, std::move(held_out)};
  }
  return deviations;
}

LevelFit FitAll(const FitParent& parent, const std::vector<Sample>& samples, const std::vector<Efficiencies>& folds,
                Cancelled cancelled) {
  LevelFit level{.used = Indices(samples.size()),
                 .fit = Fit(parent.efficiencies, samples, parent.Options(), cancelled)};
  std::iota(level.used.begin(), level.used.end(), 0);
  level.quality = JudgeFit(level.fit.efficiencies, HeldOutErrors(folds, samples, level.used), samples, parent.bands);
  return level;
}

LevelFit FitOthers(const FitParent& parent, const std::vector<Sample>& samples,
                   const std::map<std::string, Deviation>& deviations, Cancelled cancelled) {
  Indices others;
  for (size_t i = 0; i < samples.size(); ++i) {
    if (!deviations.contains(samples[i].scenario.model->id)) others.push_back(static_cast<int>(i));
  }
  const std::vector<Sample> of_others = Pick(samples, others);
  LevelFit level =
      FitAll(parent, of_others, FitFolds(parent.efficiencies, of_others, cancelled, parent.Options()), cancelled);
  level.used = others;
  return level;
}

}  // namespace

DeviceFit FitDevice(const FitParent& parent, const std::vector<Sample>& samples, Cancelled cancelled) {
  const std::map<std::string, Indices> by_model = ByModel(samples);
  const FitOptions options = parent.Options();
  const std::vector<Efficiencies> folds = FitFolds(parent.efficiencies, samples, cancelled, options);
  const std::map<std::string, Deviation> deviations = Deviations(options, folds, by_model, samples, cancelled);
  const size_t others = by_model.size() - deviations.size();
  const bool are_the_rule = !deviations.empty() && others >= 2 && others >= deviations.size();
  DeviceFit fit{.device = are_the_rule ? FitOthers(parent, samples, deviations, cancelled)
                                       : FitAll(parent, samples, folds, cancelled)};
  for (const auto& [id, deviation] : deviations) {
    const std::vector<Sample> own = Pick(samples, deviation.of_model);
    LevelFit model{.model_id = id, .used = deviation.of_model};
    model.fit = Fit(fit.device.fit.efficiencies, own, options, cancelled);
    model.quality = JudgeFit(model.fit.efficiencies, deviation.held_out, own, fit.device.quality.bands);
    fit.models.push_back(std::move(model));
  }
  return fit;
}

}  // namespace foretoken
