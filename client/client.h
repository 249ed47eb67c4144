// The client library: a class whose functions are the RPCs of foretokend. Start reading here; the command line in cli/
// is built on it. The library includes the API's generated headers and nothing else of this project.
//
//   Client client(Dial("127.0.0.1:50051"));
//   v1::EstimateRequest request;
//   request.mutable_scenario()->set_model_id("llama-3.1-70b");
//   ...
//   absl::StatusOr<v1::EstimateResponse> response = client.Estimate(request);
//   if (!response.ok()) std::cerr << Describe(response.status()) << "\n";
//
// The server checks every request; the client checks none. Errors keep all details of the server
// (client/status_details.h). Only UNAVAILABLE is retried, within the deadline of the call (client/retry.h). A call that
// a server dropped unread as it ended is UNAVAILABLE too. Thread-safe: one client serves any number of threads. The
// client shares its channel.
#ifndef FORETOKEN_CLIENT_CLIENT_H_
#define FORETOKEN_CLIENT_CLIENT_H_

#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "client/retry.h"
#include "client/sweep.h"
#include "foretoken/v1/catalog_service.pb.h"
#include "foretoken/v1/estimator_service.pb.h"

namespace grpc {
class ChannelInterface;
}

namespace foretoken::client {

// Time limits, retries and identity of the calls.
struct ClientOptions {
  // Time limit of a call, retries included; for a sweep, until its last message.
  absl::Duration timeout = absl::Seconds(10);
  absl::Duration sweep_timeout = absl::InfiniteDuration();
  RetryPolicy retry;
  // Author of writes to the catalog, shown in its history. Only printable ASCII is sent. Empty: nothing is sent.
  std::string author;
  // Token that the server may require, for writes to the catalog or for every call; sent with every call, because what
  // a call shows may depend on it. A plain-text channel exposes it to anyone who can read the network. Only printable
  // ASCII is sent. Empty: nothing is sent.
  std::string write_token;
  // Waits between attempts; tests replace it.
  std::function<void(absl::Duration)> sleep = absl::SleepFor;
};

// PEM files of a channel.
struct TlsFiles {
  std::string ca;           // authorities that must have signed the server's certificate; empty: plain text
  std::string certificate;  // of this client, with its key; empty: the client presents none
  std::string key;
};

// A plain-text channel to "host:port" (or "unix:path"). It connects on first use and reconnects quickly after a loss.
//
// Replicas: "dns:///name:port", where the name has an address for each, or "ipv4:10.0.0.7:50051,10.0.0.8:50051". Calls
// go to them in turn, to those alone whose health service says SERVING, so that one which is about to end gets none.
std::shared_ptr<grpc::ChannelInterface> Dial(const std::string& server);

// The same over TLS; in plain text if no file is named. The server's certificate must name the host in `server`.
// Errors: INVALID_ARGUMENT: a file cannot be read, or another file is missing beside it.
absl::StatusOr<std::shared_ptr<grpc::ChannelInterface>> Dial(const std::string& server, const TlsFiles& files);

class Client {
 public:
  explicit Client(std::shared_ptr<grpc::ChannelInterface> channel, ClientOptions options = {});
  ~Client();
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  // EstimatorService. Errors: those of the RPC; UNAVAILABLE and DEADLINE_EXCEEDED if the server does not answer.
  absl::StatusOr<v1::EstimateResponse> Estimate(const v1::EstimateRequest& request) const;
  absl::StatusOr<v1::BatchEstimateResponse> BatchEstimate(const v1::BatchEstimateRequest& request) const;
  absl::StatusOr<v1::SolveResponse> Solve(const v1::SolveRequest& request) const;
  absl::StatusOr<v1::SimulateResponse> Simulate(const v1::SimulateRequest& request) const;

  // The call starts with the first read of the stream. REQUIRES: the client outlives the stream.
  std::unique_ptr<SweepStream> Sweep(const v1::SweepRequest& request) const;

  // CatalogService. A write without request_id is not retried. Errors: as above.
  absl::StatusOr<v1::RegisterHardwareResponse> RegisterHardware(const v1::RegisterHardwareRequest& request) const;
  absl::StatusOr<v1::RegisterModelResponse> RegisterModel(const v1::RegisterModelRequest& request) const;
  absl::StatusOr<v1::GetHardwareResponse> GetHardware(const v1::GetHardwareRequest& request) const;
  absl::StatusOr<v1::GetModelResponse> GetModel(const v1::GetModelRequest& request) const;
  absl::StatusOr<v1::ListHardwareResponse> ListHardware(const v1::ListHardwareRequest& request) const;
  absl::StatusOr<v1::ListModelsResponse> ListModels(const v1::ListModelsRequest& request) const;
  absl::StatusOr<v1::GetCalibrationResponse> GetCalibration(const v1::GetCalibrationRequest& request) const;
  absl::StatusOr<v1::ListCalibrationsResponse> ListCalibrations(const v1::ListCalibrationsRequest& request) const;
  absl::StatusOr<v1::DeleteHardwareResponse> DeleteHardware(const v1::DeleteHardwareRequest& request) const;
  absl::StatusOr<v1::DeleteModelResponse> DeleteModel(const v1::DeleteModelRequest& request) const;
  absl::StatusOr<v1::ListRevisionsResponse> ListRevisions(const v1::ListRevisionsRequest& request) const;
  absl::StatusOr<v1::RollbackHardwareResponse> RollbackHardware(const v1::RollbackHardwareRequest& request) const;
  absl::StatusOr<v1::RollbackModelResponse> RollbackModel(const v1::RollbackModelRequest& request) const;
  absl::StatusOr<v1::GetCatalogStatusResponse> GetCatalogStatus(const v1::GetCatalogStatusRequest& request) const;

  // The standard health service: "SERVING", "NOT_SERVING", "SERVICE_UNKNOWN" or "UNKNOWN".
  // An empty service asks for the whole server. Errors: NOT_FOUND: the server does not know the service.
  absl::StatusOr<std::string> Health(const std::string& service = "") const;

 private:
  struct Stubs;
  const std::unique_ptr<Stubs> stubs_;
  const ClientOptions options_;
};

}  // namespace foretoken::client

#endif  // FORETOKEN_CLIENT_CLIENT_H_
