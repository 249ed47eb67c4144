// Predictions of rows by fits that had not seen them: each function leaves something else out.
#ifndef FORETOKEN_TESTS_VALIDATION_CROSS_VALIDATE_H_
#define FORETOKEN_TESTS_VALIDATION_CROSS_VALIDATE_H_

#include <string>
#include <vector>

#include "tests/validation/errors.h"
#include "tests/validation/hierarchy.h"
#include "tests/validation/kernel_levels.h"

namespace foretoken::validation {

// Leaves out each model in turn, of all levels. Predicts its static rows where the device and engine keep a
// calibration.
Predictions LeaveModelsOut(const std::vector<Row>& rows);
// Leaves out a fifth of the rows in turn, of all levels. Predicts its static rows likewise.
Predictions LeaveRowsOut(const std::vector<Row>& rows);
// Leaves out each device in turn. Predicts its static rows whose engine was measured on another device.
Predictions LeaveHardwareOut(const std::vector<Row>& rows);
// Leaves out nothing: all rows by the priors as they ship, those of continuous batching with what the kernels of their
// engine and device tell.
Predictions Generic(const std::vector<Row>& rows, const std::vector<KernelRow>& kernels);
// All rows by priors that are fitted again without the row's device and, if `and_engine`, its engine. The kernels of
// what is left out are left out too.
Predictions GenericLeftOut(const std::vector<Row>& rows, const std::vector<KernelRow>& kernels, bool and_engine);
// Leaves out each device in turn, then registers five random static rows of one engine on it, as a user would. Predicts
// the other static rows. 20 draws.
Predictions RegisterFive(const std::vector<Row>& rows);

}  // namespace foretoken::validation

#endif  // FORETOKEN_TESTS_VALIDATION_CROSS_VALIDATE_H_
