// The report of a fit to measurements.
#ifndef FORETOKEN_CLIENT_CLI_TEXT_CALIBRATION_TEXT_H_
#define FORETOKEN_CLIENT_CLI_TEXT_CALIBRATION_TEXT_H_

#include <string>

#include "client/cli/terminal/terminal.h"
#include "foretoken/v1/catalog_service.pb.h"

namespace foretoken::cli {

// For people: errors, bands and parameters of each calibration, what it rests on, rejected measurements with the
// reason, and the predictions that change most.
std::string CalibrationText(const v1::CalibrationReport& report, const Terminal& terminal);

// The errors alone, one line per calibration and metric, or kind and format of kernels.
std::string CalibrationCsv(const v1::CalibrationReport& report);

}  // namespace foretoken::cli

#endif  // FORETOKEN_CLIENT_CLI_TEXT_CALIBRATION_TEXT_H_
