// Predictions of rows by fits that had not seen them.
#ifndef FORETOKEN_TESTS_VALIDATION_CROSS_VALIDATE_H_
#define FORETOKEN_TESTS_VALIDATION_CROSS_VALIDATE_H_

#include <string>
#include <vector>

#include "tests/validation/errors.h"
#include "tests/validation/hierarchy.h"

namespace foretoken::validation {

// Every model in turn left out of all levels; static rows whose device and engine kept a calibration.
Predictions LeaveModelsOut(const std::vector<Row>& rows);
// Every fifth row in turn left out of all levels; static rows whose device and engine kept a calibration.
Predictions LeaveRowsOut(const std::vector<Row>& rows);
// Every device in turn left out; static rows of engines that were measured on another.
Predictions LeaveHardwareOut(const std::vector<Row>& rows);
// By the shipped priors, on everything.
Predictions Generic(const std::vector<Row>& rows);
// By priors fitted again without the row's device and, where `and_engine`, its engine.
Predictions GenericLeftOut(const std::vector<Row>& rows, bool and_engine);
// Every device in turn left out, then five random static rows of one engine on it registered; the others. 20 draws.
Predictions RegisterFive(const std::vector<Row>& rows);

}  // namespace foretoken::validation

#endif  // FORETOKEN_TESTS_VALIDATION_CROSS_VALIDATE_H_
