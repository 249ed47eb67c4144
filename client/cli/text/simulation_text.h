// A simulation as text, as CSV, and its requests as CSV.
#ifndef FORETOKEN_CLIENT_CLI_TEXT_SIMULATION_TEXT_H_
#define FORETOKEN_CLIENT_CLI_TEXT_SIMULATION_TEXT_H_

#include <string>

#include "client/cli/terminal/terminal.h"
#include "foretoken/v1/simulation.pb.h"

namespace foretoken::cli {

// The percentiles of an estimate, with their standard errors.
std::string PercentilesText(const v1::Percentiles& percentiles, const Terminal& terminal);

// Percentiles with their standard errors, rates, queue, memory, the scheduler, warnings and where it comes from.
std::string SimulationText(const v1::SimulateResponse& response, const Terminal& terminal);

// A header, and a row for each metric: mean and percentiles in seconds, each followed by its standard error.
std::string SimulationCsv(const v1::SimulateResponse& response);

// A header, and a row for each request.
std::string RequestsCsv(const v1::SimulateResponse& response);

}  // namespace foretoken::cli

#endif  // FORETOKEN_CLIENT_CLI_TEXT_SIMULATION_TEXT_H_
