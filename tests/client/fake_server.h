// A server that behaves as the API says, on made-up numbers: TTFT is 10 ms a sequence, TPOT 1 ms a sequence.
//
// It knows the models "small" and "large" and the hardware "gpu-a" and "gpu-b"; "large" fits nowhere. It can be told to
// fail the next calls, and counts them.
#ifndef FORETOKEN_TESTS_CLIENT_FAKE_SERVER_H_
#define FORETOKEN_TESTS_CLIENT_FAKE_SERVER_H_

#include <grpcpp/server.h>

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "foretoken/v1/catalog_service.grpc.pb.h"
#include "foretoken/v1/estimator_service.grpc.pb.h"

namespace foretoken::client {

class FakeEstimator : public v1::EstimatorService::Service {
 public:
  grpc::Status Estimate(grpc::ServerContext* context, const v1::EstimateRequest* request,
                        v1::EstimateResponse* response) override;
  grpc::Status BatchEstimate(grpc::ServerContext* context, const v1::BatchEstimateRequest* request,
                             v1::BatchEstimateResponse* response) override;
  grpc::Status Sweep(grpc::ServerContext* context, const v1::SweepRequest* request,
                     grpc::ServerWriter<v1::SweepResponse>* writer) override;
  // Batch 37, or the second candidate; nothing where max_tpot_seconds is below 1 ms.
  grpc::Status Solve(grpc::ServerContext* context, const v1::SolveRequest* request,
                     v1::SolveResponse* response) override;
  grpc::Status Simulate(grpc::ServerContext* context, const v1::SimulateRequest* request,
                        v1::SimulateResponse* response) override;

  std::atomic<int> calls = 0;
  std::atomic<int> failures = 0;        // of the next calls, so many answer UNAVAILABLE
  grpc::Status refusal;                 // what Estimate answers where it is not OK
  std::optional<v1::Estimate> reply;    // what Estimate, BatchEstimate and Solve answer for a scenario that they take
  std::atomic<bool> cancelled = false;  // a sweep was cancelled
  std::atomic<bool> silent = false;     // Estimate answers nothing until it is cancelled
  std::atomic<bool> endless = false;    // a sweep goes on until it is cancelled
  std::atomic<bool> headless = false;   // a sweep has no header
  std::atomic<bool> cut = false;        // a sweep has no summary
  v1::SweepSummary summary;             // what a sweep's summary has beside its own
  v1::EstimateRequest last;             // of the last Estimate
  v1::BatchEstimateRequest last_batch;
  v1::SweepRequest last_sweep;
  v1::SolveRequest last_solve;
  v1::SimulateRequest last_simulate;
};

class FakeCatalog : public v1::CatalogService::Service {
 public:
  grpc::Status RegisterHardware(grpc::ServerContext* context, const v1::RegisterHardwareRequest* request,
                                v1::RegisterHardwareResponse* response) override;
  grpc::Status RegisterModel(grpc::ServerContext* context, const v1::RegisterModelRequest* request,
                             v1::RegisterModelResponse* response) override;
  // A name with a slash is an alias: "org/small" is small, any other is NOT_FOUND.
  grpc::Status GetModel(grpc::ServerContext* context, const v1::GetModelRequest* request,
                        v1::GetModelResponse* response) override;
  grpc::Status GetCalibration(grpc::ServerContext* context, const v1::GetCalibrationRequest* request,
                              v1::GetCalibrationResponse* response) override;
  grpc::Status GetHardware(grpc::ServerContext* context, const v1::GetHardwareRequest* request,
                           v1::GetHardwareResponse* response) override;
  grpc::Status ListHardware(grpc::ServerContext* context, const v1::ListHardwareRequest* request,
                            v1::ListHardwareResponse* response) override;
  grpc::Status ListModels(grpc::ServerContext* context, const v1::ListModelsRequest* request,
                          v1::ListModelsResponse* response) override;
  grpc::Status ListCalibrations(grpc::ServerContext* context, const v1::ListCalibrationsRequest* request,
                                v1::ListCalibrationsResponse* response) override;
  grpc::Status DeleteModel(grpc::ServerContext* context, const v1::DeleteModelRequest* request,
                           v1::DeleteModelResponse* response) override;
  grpc::Status DeleteHardware(grpc::ServerContext* context, const v1::DeleteHardwareRequest* request,
                              v1::DeleteHardwareResponse* response) override;
  // Two revisions of gpu-a and of the model small: 5 registered it, 7 deleted it.
  grpc::Status ListRevisions(grpc::ServerContext* context, const v1::ListRevisionsRequest* request,
                             v1::ListRevisionsResponse* response) override;
  grpc::Status RollbackHardware(grpc::ServerContext* context, const v1::RollbackHardwareRequest* request,
                                v1::RollbackHardwareResponse* response) override;
  grpc::Status RollbackModel(grpc::ServerContext* context, const v1::RollbackModelRequest* request,
                             v1::RollbackModelResponse* response) override;
  grpc::Status GetCatalogStatus(grpc::ServerContext* context, const v1::GetCatalogStatusRequest* request,
                                v1::GetCatalogStatusResponse* response) override;

  std::atomic<int> calls = 0;
  std::atomic<int> failures = 0;
  v1::RegisterHardwareRequest last_hardware;
  v1::RegisterModelRequest last_model;
  v1::GetHardwareRequest last_get;
  v1::GetModelRequest last_get_model;
  v1::DeleteHardwareRequest last_delete;
  v1::DeleteModelRequest last_delete_model;
  v1::RollbackHardwareRequest last_rollback;
  v1::RollbackModelRequest last_rollback_model;
  // The fields of the entries that lists and gets answer, beside their id.
  v1::HardwareEntry hardware;
  v1::ModelEntry model;
  v1::CalibrationEntry calibration;
  v1::CalibrationReport report;  // of a registration of hardware
  std::string last_author;       // of the last call; empty: none was sent
  std::string last_authorization;
  std::atomic<bool> stale = false;  // the store is away
};

// Both services, and the standard health service, on a free port of the loopback.
class FakeServer {
 public:
  FakeServer();
  ~FakeServer();

  const std::string& address() const { return address_; }
  std::shared_ptr<grpc::Channel> InProcess();
  void SetServing(bool serving);

  FakeEstimator estimator;
  FakeCatalog catalog;

 private:
  std::unique_ptr<grpc::Server> server_;
  std::string address_;
};

// A status as the server sends one: code, message, ErrorInfo and, with a field, BadRequest.
grpc::Status Refuse(grpc::StatusCode code, const std::string& reason, const std::string& message,
                    const std::string& field = "");

}  // namespace foretoken::client

#endif  // FORETOKEN_TESTS_CLIENT_FAKE_SERVER_H_
