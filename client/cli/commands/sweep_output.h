// Output of a sweep: a table for people, lines of CSV or JSON for programs.
#ifndef FORETOKEN_CLIENT_CLI_COMMANDS_SWEEP_OUTPUT_H_
#define FORETOKEN_CLIENT_CLI_COMMANDS_SWEEP_OUTPUT_H_

#include <memory>
#include <string>

#include "client/cli/terminal/session.h"
#include "client/sweep.h"

namespace foretoken::cli {

class SweepOutput {
 public:
  virtual ~SweepOutput() = default;
  virtual void Header(const v1::SweepHeader& header) = 0;
  virtual void Row(const client::SweepRow& row) = 0;
  virtual void Error(const v1::SweepError& error) = 0;
  virtual void Summary(const v1::SweepSummary& summary) = 0;
};

// Text shows the frontier, and every point if there are at most `max_table_rows`.
// CSV has one line per point: axes, metrics, status, reason, provenance.
// JSON has one object per line: {"point": ...} for each point, and {"summary": ...} at the end.
std::unique_ptr<SweepOutput> MakeSweepOutput(const Session& session, int max_table_rows);

// One for each format.
std::unique_ptr<SweepOutput> MakeSweepTable(const Session& session, int max_table_rows);
std::unique_ptr<SweepOutput> MakeSweepCsv(std::ostream& out);
std::unique_ptr<SweepOutput> MakeSweepJson(std::ostream& out);

// A coordinate as text: "8", "fp8", "nvidia-h100-sxm-80gb"; numbers exactly.
std::string AxisText(const client::AxisValue& value);

// google.rpc.Code as text: "OK", "FAILED_PRECONDITION".
std::string CodeText(int code);

}  // namespace foretoken::cli

#endif  // FORETOKEN_CLIENT_CLI_COMMANDS_SWEEP_OUTPUT_H_
