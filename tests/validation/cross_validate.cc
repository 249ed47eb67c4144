#include "tests/validation/cross_validate.h"

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <tuple>
#include <utility>

#include "estimator/fit/hardware_fit.h"

namespace foretoken::validation {
namespace {

constexpr int kDraws = 20;
constexpr size_t kRegistered = 5;
constexpr int kFolds = 5;

std::set<std::string> ValuesOf(const std::vector<Row>& rows, std::string Row::*field) {
  std::set<std::string> values;
  for (const Row& row : rows) values.insert(row.*field);
  return values;
}

Prediction Predict(const Row& row, const Efficiencies& efficiencies, const std::string& left_out) {
  return {.row = &row, .times = PredictTimes(row.sample.scenario, efficiencies), .left_out = left_out};
}

// Of the row's very device, engine and version; lookup may fall back to another version on the device.
bool IsOf(const Calibration& calibration, const Row& row) {
  return calibration.hardware_id == row.hardware && calibration.engine == row.EngineAtVersion();
}

// Every value of a field in turn left out of all levels.
Predictions LeaveOut(const std::vector<Row>& rows, std::string Row::*field, bool own_device_only) {
  Predictions predictions;
  for (const std::string& value : ValuesOf(rows, field)) {
    const Calibrations fitted(ToCalibrations(FitHierarchy(rows, [&](const Row& row) { return row.*field != value; })));
    for (const Row& row : rows) {
      if (row.served || row.*field != value) continue;
      const Calibration* calibration = fitted.Find(row.hardware, row.EngineAtVersion(), row.model, false);
      if (calibration == nullptr || (own_device_only && !IsOf(*calibration, row))) continue;
      predictions.push_back(Predict(row, calibration->efficiencies, value));
    }
  }
  return predictions;
}

// `runs`, with what kernels tell of the row's engine and device: those of its engine elsewhere, where there are none.
Efficiencies Knowing(const Calibrations& kernels, const Efficiencies& runs, const Row& row) {
  if (!row.served) return runs;
  const Calibration* calibration = kernels.Find(row.hardware, row.EngineAtVersion(), row.model, /*continuous=*/true);
  return calibration == nullptr ? runs : WithKernels(runs, calibration->efficiencies);
}

// The same on every machine, as the standard's distributions are not.
std::vector<const Row*> Shuffled(std::vector<const Row*> rows, unsigned seed) {
  std::mt19937 random(seed);
  for (size_t i = 0; i + 1 < rows.size(); ++i) std::swap(rows[i], rows[i + random() % (rows.size() - i)]);
  return rows;
}

void RegisterOn(const FitParent& parent, const std::vector<const Row*>& rows, Predictions& predictions) {
  if (rows.size() <= kRegistered) return;
  for (unsigned seed = 0; seed < kDraws; ++seed) {
    const std::vector<const Row*> drawn = Shuffled(rows, seed);
    std::vector<Sample> samples;
    for (size_t i = 0; i < kRegistered; ++i) samples.push_back(drawn[i]->sample);
    // As RegisterHardware would; where it refuses the samples, the parent goes on answering.
    const absl::StatusOr<HardwareFit> fit = FitHardware(parent, samples);
    const Efficiencies& fitted = fit.ok() ? fit->levels.device.fit.efficiencies : parent.efficiencies;
    for (size_t i = kRegistered; i < drawn.size(); ++i) {
      predictions.push_back(Predict(*drawn[i], fitted, drawn[i]->hardware));
    }
  }
}

}  // namespace

Predictions LeaveModelsOut(const std::vector<Row>& rows) { return LeaveOut(rows, &Row::model, true); }

Predictions LeaveHardwareOut(const std::vector<Row>& rows) { return LeaveOut(rows, &Row::hardware, false); }

Predictions LeaveRowsOut(const std::vector<Row>& rows) {
  Predictions predictions;
  for (int fold = 0; fold < kFolds; ++fold) {
    const auto held_out = [&rows, fold](const Row& row) { return (&row - rows.data()) % kFolds == fold; };
    const Calibrations fitted(
        ToCalibrations(FitHierarchy(rows, [&held_out](const Row& row) { return !held_out(row); })));
    for (const Row& row : rows) {
      if (row.served || !held_out(row)) continue;
      const Calibration* calibration = fitted.Find(row.hardware, row.EngineAtVersion(), row.model, false);
      if (calibration == nullptr || !IsOf(*calibration, row)) continue;
      predictions.push_back(Predict(row, calibration->efficiencies, std::to_string(fold)));
    }
  }
  return predictions;
}

Predictions Generic(const std::vector<Row>& rows, const std::vector<KernelRow>& kernels) {
  const auto all = [](const KernelRow&) { return true; };
  const Calibrations fitted(ToCalibrations(FitKernelLevels(kernels, all, GenericServedPrior())));
  Predictions predictions;
  for (const Row& row : rows) {
    predictions.push_back(Predict(row, Knowing(fitted, GenericPriorOf(row.served), row), row.hardware));
  }
  return predictions;
}

Predictions GenericLeftOut(const std::vector<Row>& rows, const std::vector<KernelRow>& kernels, bool and_engine) {
  std::set<std::tuple<std::string, std::string, bool>> cases;
  for (const Row& row : rows) cases.insert({row.hardware, and_engine ? row.engine : "", row.served});
  Predictions predictions;
  for (const auto& [hardware, engine, served] : cases) {
    const auto in_case = [&, &hardware = hardware, &engine = engine, served = served](const Row& row) {
      return row.served == served && row.hardware == hardware && (!and_engine || row.engine == engine);
    };
    const Efficiencies fitted = FitGeneric(rows, served, [&hardware = hardware, &engine = engine](const Row& row) {
      return row.hardware != hardware && row.engine != engine;
    });
    const auto left = [&hardware = hardware, &engine = engine](const KernelRow& row) {
      return row.hardware != hardware && row.engine != engine;
    };
    const Calibrations known(ToCalibrations(FitKernelLevels(kernels, left, GenericServedPrior())));
    for (const Row& row : rows) {
      if (in_case(row)) predictions.push_back(Predict(row, Knowing(known, fitted, row), hardware));
    }
  }
  return predictions;
}

Predictions RegisterFive(const std::vector<Row>& rows) {
  Predictions predictions;
  for (const std::string& device : ValuesOf(rows, &Row::hardware)) {
    const Calibrations fitted(
        ToCalibrations(FitHierarchy(rows, [&](const Row& row) { return row.hardware != device; })));
    std::map<std::string, std::vector<const Row*>> by_engine;
    for (const Row& row : rows) {
      if (!row.served && row.hardware == device) by_engine[row.EngineAtVersion()].push_back(&row);
    }
    for (const auto& [engine, of_engine] : by_engine) {
      const Calibration* parent = fitted.Find(device, engine, "", false);
      const Hardware& hardware = *of_engine.front()->sample.scenario.hardware;
      RegisterOn({parent != nullptr ? TransferredTo(hardware, parent->efficiencies) : GenericPrior()}, of_engine,
                 predictions);
    }
  }
  return predictions;
}

}  // namespace foretoken::validation
