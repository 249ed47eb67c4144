// The catalog's half of the fake server.
#include "tests/client/fake_replies.h"
#include "tests/client/fake_server.h"

namespace foretoken::client {
namespace {

template <typename Entry>
void AddEntry(const std::string& id, const std::string& contains, const Entry& fields,
              google::protobuf::RepeatedPtrField<Entry>* entries) {
  if (id.find(contains) == std::string::npos) return;
  Entry& entry = *entries->Add();
  entry = fields;
  entry.mutable_spec()->set_id(id);
  entry.set_origin(v1::ENTRY_ORIGIN_BUNDLED);
}

// A header of the call; empty where there is none.
std::string HeaderOf(const grpc::ServerContext& context, const char* name) {
  const auto header = context.client_metadata().find(name);
  if (header == context.client_metadata().end()) return "";
  return {header->second.data(), header->second.size()};
}

void Record(const grpc::ServerContext& context, FakeCatalog& catalog) {
  catalog.last_author = HeaderOf(context, "foretoken-author");
  catalog.last_authorization = HeaderOf(context, "authorization");
}

// One entry a page, so that a client must turn them.
template <typename Entry, typename Request, typename Response>
void ListIds(const std::vector<std::string>& ids, const Entry& fields, const Request& request, Response* response) {
  const size_t at = request.page_token().empty() ? 0 : std::stoul(request.page_token());
  if (at < ids.size()) AddEntry(ids[at], request.id_contains(), fields, response->mutable_entries());
  if (at + 1 < ids.size()) response->set_next_page_token(std::to_string(at + 1));
  SetRevision(response->mutable_catalog_revision());
}

}  // namespace

grpc::Status FakeCatalog::RegisterHardware(grpc::ServerContext* context, const v1::RegisterHardwareRequest* request,
                                           v1::RegisterHardwareResponse* response) {
  ++calls;
  Record(*context, *this);
  last_hardware = *request;
  if (UseFailure(failures)) return Unavailable();
  *response->mutable_entry()->mutable_spec() = request->spec();
  response->mutable_entry()->set_etag("new");
  *response->mutable_calibration_report() = report;
  SetRevision(response->mutable_catalog_revision());
  if (request->samples().empty()) return grpc::Status::OK;
  v1::LinearFit& fit = *response->mutable_report()->mutable_prefill();
  fit.set_slope(12345);
  fit.set_intercept(-20);
  fit.set_r2(0.9987);
  fit.add_residuals(3);
  fit.add_sample_indices(0);
  return grpc::Status::OK;
}

grpc::Status FakeCatalog::RegisterModel(grpc::ServerContext* context, const v1::RegisterModelRequest* request,
                                        v1::RegisterModelResponse* response) {
  ++calls;
  Record(*context, *this);
  last_model = *request;
  *response->mutable_entry()->mutable_spec() = request->spec();
  response->mutable_entry()->set_etag("m1");
  SetRevision(response->mutable_catalog_revision());
  return grpc::Status::OK;
}

grpc::Status FakeCatalog::GetModel(grpc::ServerContext*, const v1::GetModelRequest* request,
                                   v1::GetModelResponse* response) {
  last_get_model = *request;
  const bool alias = request->model_id().find('/') != std::string::npos;
  if (alias && request->model_id() != "org/small") return {grpc::StatusCode::NOT_FOUND, "unknown model"};
  *response->mutable_entry() = model;
  response->mutable_entry()->mutable_spec()->set_id(alias ? "small" : request->model_id());
  SetRevision(response->mutable_catalog_revision());
  return grpc::Status::OK;
}

grpc::Status FakeCatalog::GetCalibration(grpc::ServerContext*, const v1::GetCalibrationRequest* request,
                                         v1::GetCalibrationResponse* response) {
  *response->mutable_entry() = calibration;
  response->mutable_entry()->mutable_spec()->set_id(request->calibration_id());
  SetRevision(response->mutable_catalog_revision());
  return grpc::Status::OK;
}

grpc::Status FakeCatalog::ListCalibrations(grpc::ServerContext*, const v1::ListCalibrationsRequest* request,
                                           v1::ListCalibrationsResponse* response) {
  ListIds({"gpu-a.vllm"}, calibration, *request, response);
  return grpc::Status::OK;
}

grpc::Status FakeCatalog::GetHardware(grpc::ServerContext* context, const v1::GetHardwareRequest* request,
                                      v1::GetHardwareResponse* response) {
  Record(*context, *this);
  last_get = *request;
  if (request->hardware_id() != "gpu-a") {
    return Refuse(grpc::StatusCode::NOT_FOUND, "UNKNOWN_ID", "closest: gpu-a", "hardware_id");
  }
  response->mutable_entry()->mutable_spec()->set_id("gpu-a");
  response->mutable_entry()->mutable_spec()->set_memory_capacity_bytes(80000000000);
  response->mutable_entry()->set_etag("e1");
  response->mutable_entry()->set_origin(v1::ENTRY_ORIGIN_BUNDLED);
  SetRevision(response->mutable_catalog_revision());
  return grpc::Status::OK;
}

grpc::Status FakeCatalog::ListHardware(grpc::ServerContext*, const v1::ListHardwareRequest* request,
                                       v1::ListHardwareResponse* response) {
  ListIds({"gpu-a", "gpu-b"}, hardware, *request, response);
  return grpc::Status::OK;
}

grpc::Status FakeCatalog::ListModels(grpc::ServerContext*, const v1::ListModelsRequest* request,
                                     v1::ListModelsResponse* response) {
  ListIds({"large", "small"}, model, *request, response);
  return grpc::Status::OK;
}

grpc::Status FakeCatalog::DeleteModel(grpc::ServerContext* context, const v1::DeleteModelRequest* request,
                                      v1::DeleteModelResponse* response) {
  ++calls;
  Record(*context, *this);
  last_delete_model = *request;
  SetRevision(response->mutable_catalog_revision());
  return grpc::Status::OK;
}

grpc::Status FakeCatalog::DeleteHardware(grpc::ServerContext* context, const v1::DeleteHardwareRequest* request,
                                         v1::DeleteHardwareResponse* response) {
  ++calls;
  Record(*context, *this);
  last_delete = *request;
  if (request->has_etag() && request->etag() != "e1") {
    return Refuse(grpc::StatusCode::ABORTED, "ETAG_MISMATCH", "etag x; the current one is e1");
  }
  SetRevision(response->mutable_catalog_revision());
  return grpc::Status::OK;
}

grpc::Status FakeCatalog::ListRevisions(grpc::ServerContext*, const v1::ListRevisionsRequest* request,
                                        v1::ListRevisionsResponse* response) {
  if (request->hardware_id() != "gpu-a" && request->model_id() != "small") {
    return Refuse(grpc::StatusCode::NOT_FOUND, "UNKNOWN_ID", "was never registered");
  }
  v1::EntryRevision& gone = *response->add_revisions();
  gone.set_store_revision(7);
  gone.mutable_write_time()->set_seconds(1'700'000'060);
  gone.set_action(v1::WRITE_ACTION_DELETE);
  gone.set_author("ann@ci");
  gone.set_peer("ipv4:10.0.0.7:1");
  gone.add_changed_fields("id");
  v1::EntryRevision& first = *response->add_revisions();
  first.set_store_revision(5);
  first.mutable_write_time()->set_seconds(1'700'000'000);
  first.set_action(v1::WRITE_ACTION_REGISTER);
  first.set_etag("r5-1");
  first.add_changed_fields("id");
  first.add_changed_fields("vendor");
  return grpc::Status::OK;
}

grpc::Status FakeCatalog::RollbackHardware(grpc::ServerContext* context, const v1::RollbackHardwareRequest* request,
                                           v1::RollbackHardwareResponse* response) {
  ++calls;
  Record(*context, *this);
  last_rollback = *request;
  if (request->store_revision() > 0) response->mutable_entry()->set_etag("r8-1");
  SetRevision(response->mutable_catalog_revision());
  return grpc::Status::OK;
}

grpc::Status FakeCatalog::RollbackModel(grpc::ServerContext* context, const v1::RollbackModelRequest* request,
                                        v1::RollbackModelResponse* response) {
  ++calls;
  Record(*context, *this);
  last_rollback_model = *request;
  response->mutable_entry()->set_etag("m8-1");
  SetRevision(response->mutable_catalog_revision());
  return grpc::Status::OK;
}

grpc::Status FakeCatalog::GetCatalogStatus(grpc::ServerContext*, const v1::GetCatalogStatusRequest*,
                                           v1::GetCatalogStatusResponse* response) {
  SetRevision(response->mutable_catalog_revision());
  response->set_store_kind("etcd");
  response->set_age_seconds(0.5);
  if (!stale) return grpc::Status::OK;
  response->mutable_catalog_revision()->mutable_stale_since()->set_seconds(1'700'000'000);
  response->set_last_error("no answer in time");
  response->mutable_last_error_time()->set_seconds(1'700'000'004);
  v1::SkippedEntry& skipped = *response->add_skipped_entries();
  skipped.set_name("hardware/x");
  skipped.set_store_revision(3);
  skipped.set_reason("garbage");
  return grpc::Status::OK;
}

}  // namespace foretoken::client
