// The answer to a registration, for people.
#ifndef FORETOKEN_CLIENT_CLI_TEXT_PROFILE_TEXT_H_
#define FORETOKEN_CLIENT_CLI_TEXT_PROFILE_TEXT_H_

#include <string>

#include "client/cli/terminal/terminal.h"
#include "foretoken/v1/catalog_service.pb.h"

namespace foretoken::cli {

// "registered hardware my-gpu, etag 1f, catalog 3f2a revision 12".
std::string RegisteredText(const std::string& kind, const std::string& id, const std::string& etag, bool validate_only,
                           const v1::CatalogRevision& revision);

// The fitted lines: slope, intercept, R2, the residual of each measurement, and rejected measurements with the reason.
std::string ProfileText(const v1::ProfileReport& report, const Terminal& terminal);

}  // namespace foretoken::cli

#endif  // FORETOKEN_CLIENT_CLI_TEXT_PROFILE_TEXT_H_
