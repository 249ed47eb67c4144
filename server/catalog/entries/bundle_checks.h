// Rules of bundled files beyond what parse.h asks of every spec.
#ifndef FORETOKEN_SERVER_CATALOG_ENTRIES_BUNDLE_CHECKS_H_
#define FORETOKEN_SERVER_CATALOG_ENTRIES_BUNDLE_CHECKS_H_

#include <string>
#include <vector>

#include "google/protobuf/message.h"

namespace foretoken::catalog {

// Parses a textproto. Each fault as "LINE:COLUMN: what is wrong", among them unknown and repeated fields.
std::vector<std::string> ParseText(const std::string& text, google::protobuf::Message& message);

// Each number of `spec` that no source covers, as "FIELD: no source states it". A source covers the fields that it
// lists, with all below them, or every field when it lists none. `sources` is the spec's own list.
std::vector<std::string> UnsourcedNumbers(const google::protobuf::Message& spec);

}  // namespace foretoken::catalog

#endif  // FORETOKEN_SERVER_CATALOG_ENTRIES_BUNDLE_CHECKS_H_
