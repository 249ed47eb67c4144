// Calibrations of every engine, version and (device, engine) that static batches tell of, and of the models that
// deviate: generic prior -> engine -> engine@version -> (hardware, engine@version) -> (hardware, engine@version,
// model), each drawn to its parent. A device's parent is fitted without the rows of that device, so that they do not
// count twice; where no others are left, it is the next up.
#ifndef FORETOKEN_TESTS_VALIDATION_HIERARCHY_H_
#define FORETOKEN_TESTS_VALIDATION_HIERARCHY_H_

#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "estimator/scenario/calibration.h"
#include "tests/validation/measured.h"

namespace foretoken::validation {

// One calibration and how it came about.
struct Level {
  std::string hardware;         // empty: of the engine
  std::string engine;           // "name" or "name@version"
  std::string model;            // empty: any
  std::set<std::string> apart;  // models that it was fitted without, for they deviate from the others
  std::string parent;           // id; empty: the generic prior
  Efficiencies prior;           // the parent's; of a device, without its own rows
  FitResult fit;
  int samples = 0;

  std::string Id() const;
};

using Keep = std::function<bool(const Row&)>;

// Fits every level to the static rows that `keep` accepts. Rows of ports that run far from their hardware's speed
// (IsPoorlyTuned) tell of their own device only. Fits are remembered: leaving out a row costs those that had seen it.
std::vector<Level> FitHierarchy(const std::vector<Row>& rows, const Keep& keep);

// One set for any hardware and engine from the rows of batches, or of closed loops, that `keep` accepts, drawn to
// GenericPrior; every group weighs the same, and rows of poorly tuned ports tell nothing.
Efficiencies FitGeneric(const std::vector<Row>& rows, bool served, const Keep& keep);

// The same as the server looks them up.
std::vector<Calibration> ToCalibrations(const std::vector<Level>& levels);

// A port whose times would spoil what other devices are told: those of vLLM and llama.cpp of 2024 on AMD's MI300X. The
// whole device counts as one, so that its few rows of vLLM 0.7.3 tell nothing of others either.
bool IsPoorlyTuned(const Row& row);

}  // namespace foretoken::validation

#endif  // FORETOKEN_TESTS_VALIDATION_HIERARCHY_H_
