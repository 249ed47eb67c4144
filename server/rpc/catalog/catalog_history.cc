// What was: revisions, entries at one, and the way back. And how the catalog stands with its store.
#include <algorithm>
#include <set>
#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "estimator/base/errors.h"
#include "google/protobuf/util/message_differencer.h"
#include "server/catalog/spec/field_checker.h"
#include "server/catalog/spec/timestamp.h"
#include "server/rpc/catalog/catalog_api.h"
#include "server/rpc/catalog/catalog_calls.h"
#include "server/rpc/catalog/page_token.h"

namespace foretoken::rpc {
namespace {

// The top-level fields that differ between two stored specs; a deleted one has none.
template <typename Spec>
std::set<std::string> ChangedFields(const std::optional<std::string>& before, const std::optional<std::string>& after) {
  Spec old_spec, new_spec;
  if (before) old_spec.ParseFromString(*before);
  if (after) new_spec.ParseFromString(*after);
  std::set<std::string> changed;
  for (int i = 0; i < Spec::descriptor()->field_count(); ++i) {
    const google::protobuf::FieldDescriptor* const field = Spec::descriptor()->field(i);
    google::protobuf::util::MessageDifferencer differencer;
    if (!differencer.CompareWithFields(old_spec, new_spec, {field}, {field})) changed.insert(field->name());
  }
  return changed;
}

template <typename Spec>
void AddRevision(const std::vector<catalog::StoredRevision>& history, size_t index,
                 v1::ListRevisionsResponse& response) {
  const catalog::StoredRevision& one = history[index];
  v1::EntryRevision& revision = *response.add_revisions();
  revision.set_store_revision(one.revision);
  catalog::SetTimestamp(one.update_time, *revision.mutable_write_time());
  revision.set_author(one.author);
  revision.set_peer(one.peer);
  revision.set_action(static_cast<v1::WriteAction>(one.action));
  revision.set_etag(one.etag);
  const bool oldest = index + 1 == history.size();
  for (const std::string& field : ChangedFields<Spec>(oldest ? std::nullopt : history[index + 1].value, one.value)) {
    revision.add_changed_fields(field);
  }
}

template <typename Spec>
absl::Status ListPage(const v1::ListRevisionsRequest& request, int page_size, const std::string& collection,
                      const std::vector<catalog::StoredRevision>& history, v1::ListRevisionsResponse& response) {
  const absl::StatusOr<std::string> token = ReadPageToken(request.page_token(), collection, "");
  if (!token.ok()) return token.status();
  int64_t below = std::numeric_limits<int64_t>::max();  // revisions of the pages before are not
  if (!token->empty() && !absl::SimpleAtoi(*token, &below)) {
    return Refusal(Reason::kInvalidField, "page_token", "page_token is not one that this call gave");
  }
  for (size_t i = 0; i < history.size(); ++i) {
    if (history[i].revision >= below) continue;
    if (response.revisions_size() == page_size) {
      const int64_t last = response.revisions(page_size - 1).store_revision();
      response.set_next_page_token(MakePageToken(collection, "", absl::StrCat(last)));
      break;
    }
    AddRevision<Spec>(history, i, response);
  }
  return absl::OkStatus();
}

template <typename Spec>
absl::Status List(const v1::ListRevisionsRequest& request, catalog::EntryKind kind, const std::string& id,
                  std::string_view field, catalog::Catalog& catalog, v1::ListRevisionsResponse& response) {
  if (absl::Status status = RequireId(id, field); !status.ok()) return status;
  const absl::StatusOr<int> page_size = ReadPageSize(request.page_size());
  if (!page_size.ok()) return page_size.status();
  const auto history = catalog.History(kind, id);
  if (!history.ok()) return history.status();
  const std::string collection = absl::StrCat("revisions/", std::string(catalog::KindName(kind)), "/", id);
  return ListPage<Spec>(request, *page_size, collection, *history, response);
}

template <typename Request, typename Entry, typename Response>
absl::Status RollbackEntry(const Request& request, const Caller& caller, const std::string& id, const char* field,
                           absl::StatusOr<std::optional<Entry>> (catalog::Catalog::*rollback)(
                               const std::string&, int64_t, const catalog::WriteOptions&),
                           catalog::Catalog& catalog, Response& response) {
  if (absl::Status status = RequireId(id, field); !status.ok()) return status;
  if (!request.has_store_revision()) {
    return Refusal(Reason::kInvalidField, "store_revision", "store_revision is required");
  }
  if (absl::Status status = CheckRequestId(request.request_id()); !status.ok()) return status;
  auto entry = (catalog.*rollback)(id, request.store_revision(), OptionsOf(request, caller));
  if (!entry.ok()) return entry.status();
  if (*entry) *response.mutable_entry() = **std::move(entry);
  *response.mutable_catalog_revision() = catalog.snapshot()->revision();
  return absl::OkStatus();
}

}  // namespace

absl::Status GetAtRevision(const v1::GetHardwareRequest& request, catalog::Catalog& catalog,
                           v1::GetHardwareResponse& response) {
  if (absl::Status status = RequireId(request.hardware_id(), "hardware_id"); !status.ok()) return status;
  return Reply(catalog.HardwareAt(request.hardware_id(), request.store_revision()), catalog, response);
}

absl::Status GetAtRevision(const v1::GetModelRequest& request, catalog::Catalog& catalog,
                           v1::GetModelResponse& response) {
  if (absl::Status status = RequireId(request.model_id(), "model_id"); !status.ok()) return status;
  return Reply(catalog.ModelAt(request.model_id(), request.store_revision()), catalog, response);
}

absl::Status Rollback(const v1::RollbackHardwareRequest& request, const Caller& caller, catalog::Catalog& catalog,
                      v1::RollbackHardwareResponse& response) {
  return RollbackEntry(request, caller, request.hardware_id(), "hardware_id", &catalog::Catalog::RollbackHardware,
                       catalog, response);
}

absl::Status Rollback(const v1::RollbackModelRequest& request, const Caller& caller, catalog::Catalog& catalog,
                      v1::RollbackModelResponse& response) {
  return RollbackEntry(request, caller, request.model_id(), "model_id", &catalog::Catalog::RollbackModel, catalog,
                       response);
}

absl::Status ListRevisions(const v1::ListRevisionsRequest& request, catalog::Catalog& catalog,
                           v1::ListRevisionsResponse& response) {
  if (request.has_model_id()) {
    return List<v1::ModelSpec>(request, catalog::EntryKind::kModel, request.model_id(), "model_id", catalog, response);
  }
  return List<v1::HardwareSpec>(request, catalog::EntryKind::kHardware, request.hardware_id(), "hardware_id", catalog,
                                response);
}

absl::Status GetStatus(const catalog::Catalog& catalog, absl::Time now, v1::GetCatalogStatusResponse& response) {
  const catalog::CatalogStatus status = catalog.status();
  *response.mutable_catalog_revision() = catalog.snapshot()->revision();
  response.set_store_kind(std::string(catalog.store_kind()));
  response.set_age_seconds(std::max(0.0, absl::ToDoubleSeconds(now - status.agreed)));
  response.set_last_error(status.last_error);
  if (!status.last_error.empty()) {
    catalog::SetTimestamp(status.last_error_time, *response.mutable_last_error_time());
  }
  for (const v1::SkippedEntry& entry : status.skipped) {
    if (response.skipped_entries_size() < catalog::kMaxNamedEntries) *response.add_skipped_entries() = entry;
  }
  return absl::OkStatus();
}

}  // namespace foretoken::rpc
