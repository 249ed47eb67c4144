// A fault of the store in two tellings: what any caller may read, and what the server's log and its admins may read
// besides, such as the path of the file or the address of etcd.
#ifndef FORETOKEN_SERVER_CATALOG_STORE_STORE_FAULT_H_
#define FORETOKEN_SERVER_CATALOG_STORE_STORE_FAULT_H_

#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace foretoken::catalog {

// STORE_UNAVAILABLE: "catalog store: WHAT" for callers, followed by " (INSIDE)" in the server.
absl::Status StoreFault(std::string_view what, std::string_view inside);

// The message with what is for the server alone.
std::string TextInside(const absl::Status& status);

// Copies what is for the server alone from one telling of a fault to another.
absl::Status WithInsideOf(absl::Status status, const absl::Status& from);

}  // namespace foretoken::catalog

#endif  // FORETOKEN_SERVER_CATALOG_STORE_STORE_FAULT_H_
