// What calls of CatalogService have in common.
#ifndef FORETOKEN_SERVER_RPC_CATALOG_CATALOG_CALLS_H_
#define FORETOKEN_SERVER_RPC_CATALOG_CATALOG_CALLS_H_

#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "server/catalog/catalog.h"
#include "server/catalog/spec/digest.h"
#include "server/rpc/catalog/catalog_api.h"

namespace foretoken::rpc {

// That an id is there and short enough to be one. Errors: kInvalidField, about `field`.
absl::Status RequireId(const std::string& id, std::string_view field);

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

// Answers with an entry and the revision of the catalog that has it.
template <typename Entry, typename Response>
absl::Status Reply(absl::StatusOr<Entry> entry, const catalog::Catalog& catalog, Response& response) {
  if (!entry.ok()) return entry.status();
  *response.mutable_entry() = *std::move(entry);
  *response.mutable_catalog_revision() = catalog.snapshot()->revision();
  return absl::OkStatus();
}

}  // namespace foretoken::rpc

#endif  // FORETOKEN_SERVER_RPC_CATALOG_CATALOG_CALLS_H_
