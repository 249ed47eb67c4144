// What both registrations have in common: flags beside the entry, and the answer.
#ifndef FORETOKEN_CLIENT_CLI_ENTRIES_REGISTRATION_H_
#define FORETOKEN_CLIENT_CLI_ENTRIES_REGISTRATION_H_

#include <optional>

#include "client/cli/scenario/message_file.h"
#include "client/cli/scenario/write_flags.h"
#include "client/cli/terminal/session.h"
#include "client/cli/text/csv.h"
#include "client/cli/text/profile_text.h"

namespace foretoken::cli {

struct RegistrationFlags {
  WriteFlags write;
  bool validate_only = false;

  void AddTo(CLI::App& command);

  // Sets etag, request_id and validate_only of a request.
  template <typename Request>
  void Fill(Request& request) const {
    write.Fill(request);
    request.set_validate_only(validate_only);
  }
};

// --max-median-ape: the gate of a fit.
void AddGate(CLI::App& command, std::optional<double>& max_median_ape);

// The hardware entry that measurements are added to: from the file `spec`, else the catalog's, whose etag the write
// then requires. Errors: those of the file, or of GetHardware.
absl::Status ReadEntry(const std::string& spec, const std::string& id, const Session& session,
                       v1::RegisterHardwareRequest& request);

// Prints the answer to a registration of a `Kind` (entry_kind.h): all of it as JSON, its id and etag as CSV or text.
template <typename Kind, typename Response>
void PrintRegistered(const Response& response, bool validate_only, const Session& session) {
  const std::string& id = response.entry().spec().id();
  const std::string& etag = response.entry().etag();
  switch (session.output) {
    case OutputFormat::kJson:
      session.out << ToJson(response);
      break;
    case OutputFormat::kCsv:
      session.out << CsvLine({"id", "etag"}) << CsvLine({id, etag});
      break;
    case OutputFormat::kText:
      session.out << RegisteredText(Kind::kName, id, etag, validate_only, response.catalog_revision());
  }
}

}  // namespace foretoken::cli

#endif  // FORETOKEN_CLIENT_CLI_ENTRIES_REGISTRATION_H_
