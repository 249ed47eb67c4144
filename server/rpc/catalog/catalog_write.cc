#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "estimator/base/errors.h"
#include "server/catalog/entries/hardware_draft.h"
#include "server/catalog/spec/parse.h"
#include "server/rpc/catalog/catalog_api.h"
#include "server/rpc/catalog/catalog_calls.h"
#include "server/rpc/register/learn.h"
#include "server/rpc/register/registration_checks.h"

namespace foretoken::rpc {
namespace {

// The spec with ids where its profiles and calibrations name models by aliases: it outlives the aliases.
v1::HardwareSpec WithModelIds(v1::HardwareSpec spec, const catalog::Snapshot& snapshot) {
  const auto resolve = [&snapshot](auto& message) {
    const catalog::ModelRecord* const model = snapshot.LookUpModel(message.model_id());
    if (model != nullptr) message.set_model_id(model->entry.spec().id());
  };
  for (v1::LinearProfile& profile : *spec.mutable_linear_profiles()) resolve(profile);
  for (v1::CalibrationSpec& calibration : *spec.mutable_calibrations()) resolve(calibration);
  return spec;
}

absl::Status GaveUp() { return absl::CancelledError("the caller gave up; nothing was written"); }

template <typename Request, typename Response>
absl::Status DeleteEntry(const Request& request, const Caller& caller, const std::string& id, const char* field,
                         absl::Status (catalog::Catalog::*erase)(const std::string&, const catalog::WriteOptions&),
                         catalog::Catalog& catalog, Response& response) {
  if (absl::Status status = RequireId(id, field); !status.ok()) return status;
  if (absl::Status status = CheckRequestId(request.request_id()); !status.ok()) return status;
  if (absl::Status status = (catalog.*erase)(id, OptionsOf(request, caller)); !status.ok()) return status;
  *response.mutable_catalog_revision() = catalog.snapshot()->revision();
  return absl::OkStatus();
}

}  // namespace

absl::Status HardwareRegistration::Prepare(Caller caller, Cancelled cancelled) {
  caller_ = std::move(caller);
  if (!request_.has_spec()) return Refusal(Reason::kInvalidField, "spec", "spec is required");
  if (absl::Status status = CheckRequestId(request_.request_id()); !status.ok()) return status;
  if (absl::Status status = catalog::CheckCounts(request_.spec()); !status.ok()) {
    return WithFieldPrefix(status, "spec.");
  }
  const auto snapshot = catalog_.snapshot();
  draft_.emplace(WithModelIds(request_.spec(), *snapshot));
  absl::Status status = CheckRegistration(request_, draft_->hardware(), *snapshot);
  if (!status.ok()) return status;
  if (cancelled()) return GaveUp();  // it waited for a thread
  if (!HasMeasurements(request_)) return absl::OkStatus();
  // What is learned is added to what the entry has now, at whichever replica it was registered.
  return catalog_.CatchUp(StoreDeadline(absl::Now(), caller_.deadline));
}

absl::Status HardwareRegistration::Learn(absl::Time now, Cancelled cancelled) {
  if (!HasMeasurements(request_)) return absl::OkStatus();
  return LearnFromSamples(request_, *catalog_.snapshot(), now, cancelled, *draft_, response_);
}

absl::Status HardwareRegistration::Write(Cancelled cancelled) {
  if (absl::Status status = CheckCalibrationIds(draft_->spec(), *catalog_.snapshot()); !status.ok()) return status;
  if (cancelled()) return GaveUp();
  catalog::WriteOptions options = OptionsOf(request_, caller_);
  options.validate_only = request_.validate_only();
  return Reply(catalog_.PutHardware(*std::move(draft_), options), catalog_, response_);
}

absl::Status Register(const v1::RegisterHardwareRequest& request, const Caller& caller, absl::Time now,
                      Cancelled cancelled, catalog::Catalog& catalog, v1::RegisterHardwareResponse& response) {
  HardwareRegistration registration(request, catalog, response);
  if (absl::Status status = registration.Prepare(caller, cancelled); !status.ok()) return status;
  if (absl::Status status = registration.Learn(now, cancelled); !status.ok()) return status;
  return registration.Write(cancelled);
}

absl::Status Register(const v1::RegisterModelRequest& request, const Caller& caller, catalog::Catalog& catalog,
                      v1::RegisterModelResponse& response) {
  if (!request.has_spec()) return Refusal(Reason::kInvalidField, "spec", "spec is required");
  if (absl::Status status = CheckRequestId(request.request_id()); !status.ok()) return status;
  catalog::WriteOptions options = OptionsOf(request, caller);
  options.validate_only = request.validate_only();
  return Reply(catalog.PutModel(request.spec(), options), catalog, response);
}

absl::Status Delete(const v1::DeleteHardwareRequest& request, const Caller& caller, catalog::Catalog& catalog,
                    v1::DeleteHardwareResponse& response) {
  return DeleteEntry(request, caller, request.hardware_id(), "hardware_id", &catalog::Catalog::DeleteHardware, catalog,
                     response);
}

absl::Status Delete(const v1::DeleteModelRequest& request, const Caller& caller, catalog::Catalog& catalog,
                    v1::DeleteModelResponse& response) {
  return DeleteEntry(request, caller, request.model_id(), "model_id", &catalog::Catalog::DeleteModel, catalog,
                     response);
}

}  // namespace foretoken::rpc
