// What a fit to measured runs found, for people.
#ifndef FORETOKEN_CLIENT_CLI_TEXT_CALIBRATION_TEXT_H_
#define FORETOKEN_CLIENT_CLI_TEXT_CALIBRATION_TEXT_H_

#include <string>

#include "client/cli/terminal/terminal.h"
#include "foretoken/v1/catalog_service.pb.h"

namespace foretoken::cli {

// Each calibration's errors, bands and parameters, the samples that were not used and why, and what predictions moved.
std::string CalibrationText(const v1::CalibrationReport& report, const Terminal& terminal);

// The errors alone, one line a metric and calibration.
std::string CalibrationCsv(const v1::CalibrationReport& report);

}  // namespace foretoken::cli

#endif  // FORETOKEN_CLIENT_CLI_TEXT_CALIBRATION_TEXT_H_
