// Writes measurements as the CSV that measurements.h reads: what it writes reads back as the same rows.
//
//   out << MeasurementsCsv(rows);
//
// Left out: Measurement::file, line, cells and status, which say how a row was read. Fields of the sample that have no
// column are lost.
#ifndef FORETOKEN_CLIENT_CLI_VALIDATION_MEASUREMENT_WRITER_H_
#define FORETOKEN_CLIENT_CLI_VALIDATION_MEASUREMENT_WRITER_H_

#include <string>
#include <vector>

#include "client/cli/validation/measurements.h"

namespace foretoken::cli {

// Every column that a file of measurements may have, in the order in which they are written.
const std::vector<std::string>& MeasurementColumns();

// The row in MeasurementColumns(); what it does not have is blank. The column max_num_batched_tokens is always blank,
// because prefill_chunk_tokens has its value.
std::vector<std::string> MeasurementCells(const Measurement& row);

// The names of all columns, and a row in all columns, each a line of CSV: to write rows one after the other.
std::string MeasurementHeader();
std::string MeasurementLine(const Measurement& row);

// A header and all rows. A column that no row has a value in is left out, unless a file must have it.
std::string MeasurementsCsv(const std::vector<Measurement>& rows);

}  // namespace foretoken::cli

#endif  // FORETOKEN_CLIENT_CLI_VALIDATION_MEASUREMENT_WRITER_H_
