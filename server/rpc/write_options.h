// What every write of the catalog has in common, out of its request.
#ifndef FORETOKEN_SERVER_RPC_WRITE_OPTIONS_H_
#define FORETOKEN_SERVER_RPC_WRITE_OPTIONS_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "server/catalog/catalog.h"
#include "server/catalog/digest.h"
#include "server/rpc/catalog_api.h"

namespace foretoken::rpc {

// Up to 128 printable characters. Errors: kInvalidField.
absl::Status CheckRequestId(const std::string& id);

// When a write has to give up, so that its answer still reaches the caller.
absl::Time StoreDeadline(absl::Time now, absl::Time callers);

// What makes a request a dry run is no part of its payload: a write may repeat its own dry run's request_id.
inline void ClearDryRun(v1::RegisterHardwareRequest& request) { request.clear_validate_only(); }
inline void ClearDryRun(v1::RegisterModelRequest& request) { request.clear_validate_only(); }
template <typename Request>
void ClearDryRun(Request&) {}

template <typename Request>
catalog::WriteOptions OptionsOf(const Request& request, const Caller& caller) {
  Request payload = request;
  ClearDryRun(payload);
  catalog::WriteOptions options;
  if (request.has_etag()) options.etag = request.etag();
  options.request_id = request.request_id();
  options.payload_digest = catalog::Sha256Hex(absl::StrCat(request.GetTypeName(), "\n", payload.SerializeAsString()));
  options.author = caller.author;
  options.peer = caller.peer;
  options.deadline = StoreDeadline(absl::Now(), caller.deadline);
  return options;
}

}  // namespace foretoken::rpc

#endif  // FORETOKEN_SERVER_RPC_WRITE_OPTIONS_H_
