// Aliases: what people, drivers and other tools call an entry. They stand for its id wherever a request names one.
#ifndef FORETOKEN_SERVER_CATALOG_SPEC_ALIASES_H_
#define FORETOKEN_SERVER_CATALOG_SPEC_ALIASES_H_

#include <google/protobuf/repeated_field.h>

#include <string>
#include <string_view>

#include "server/catalog/spec/field_checker.h"

namespace foretoken::catalog {

inline constexpr int kMaxAliases = 32;

// The form in which names are compared: in lower case. Ids have it already.
std::string Folded(std::string_view name);

// Notes what is wrong with the aliases of the entry `id` by themselves, each under "aliases[i]". An alias has 1 to 128
// printable ASCII characters, none of them a space at either end. It differs from the id and the aliases before it.
// There are at most kMaxAliases. Allocates for faults only.
void CheckAliases(FieldChecker& checks, const std::string& id,
                  const google::protobuf::RepeatedPtrField<std::string>& aliases);

}  // namespace foretoken::catalog

#endif  // FORETOKEN_SERVER_CATALOG_SPEC_ALIASES_H_
