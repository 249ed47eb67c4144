// Both services on the embedded catalog and a memory store, behind an in-process channel, at a time that the test sets.
#ifndef FORETOKEN_TESTS_RPC_SERVICE_FIXTURE_H_
#define FORETOKEN_TESTS_RPC_SERVICE_FIXTURE_H_

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/synchronization/notification.h"
#include "foretoken/v1/catalog_service.grpc.pb.h"
#include "foretoken/v1/estimator_service.grpc.pb.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"
#include "grpcpp/generic/generic_stub.h"
#include "server/catalog/catalog.h"
#include "server/catalog/entries/embedded.h"
#include "server/catalog/store/memory_store.h"
#include "server/ops/grpc_server.h"
#include "server/ops/rpcs.h"
#include "server/rpc/catalog_service.h"
#include "server/rpc/estimator_service.h"

namespace foretoken::rpc {

// What an error carries beside its code and message.
struct ErrorParts {
  std::string reason;
  std::string current_etag;
  std::vector<std::string> fields;
};

inline ErrorParts PartsOf(const grpc::Status& status) {
  google::rpc::Status details;
  details.ParseFromString(status.error_details());
  ErrorParts parts;
  for (const auto& any : details.details()) {
    google::rpc::ErrorInfo info;
    google::rpc::BadRequest bad;
    if (any.UnpackTo(&info)) {
      EXPECT_EQ(info.domain(), "foretoken.v1");
      parts.reason = info.reason();
      if (info.metadata().count("current_etag")) parts.current_etag = info.metadata().at("current_etag");
    }
    if (any.UnpackTo(&bad)) {
      for (const auto& violation : bad.field_violations()) parts.fields.push_back(violation.field());
    }
  }
  return parts;
}

class ServiceTest : public testing::Test {
 protected:
  ServiceTest() {
    catalog_ = *catalog::Catalog::Open(*catalog::LoadEmbeddedBundle(), std::make_unique<catalog::MemoryStore>(),
                                       [this] { return now_; });
    deps_ = {.catalog = catalog_.get(),
             .clock = [this] { return now_; },
             .metrics = &metrics_,
             .work = &work_,
             .writes = &writes_,
             .max_sweep_points = 100'000};
    estimator_service_ = std::make_unique<EstimatorService>(deps_);
    catalog_service_ = std::make_unique<CatalogService>(deps_);
    server_ = *ops::GrpcServer::Start({.listen = ""}, {estimator_service_.get(), catalog_service_.get()});
    estimator_ = v1::EstimatorService::NewStub(server_->InProcessChannel());
    catalog_stub_ = v1::CatalogService::NewStub(server_->InProcessChannel());
  }
  ~ServiceTest() override { server_->Drain(absl::Seconds(5)); }

  static v1::Scenario Scenario(int batch, int prompt, int output) {
    v1::Scenario scenario;
    scenario.set_model_id("llama-3.1-8b");
    scenario.set_hardware_id("nvidia-h100-sxm-80gb");
    scenario.mutable_workload()->set_batch_size(batch);
    scenario.mutable_workload()->set_prompt_tokens(prompt);
    scenario.mutable_workload()->set_output_tokens(output);
    return scenario;
  }

  grpc::Status Estimate(const v1::EstimateRequest& request, v1::EstimateResponse* response) {
    grpc::ClientContext context;
    return estimator_->Estimate(&context, request, response);
  }
  grpc::Status Estimate(const v1::Scenario& scenario, v1::EstimateResponse* response) {
    v1::EstimateRequest request;
    *request.mutable_scenario() = scenario;
    return Estimate(request, response);
  }
  // Calls an RPC by its name with an empty request, and with a token where `authorization` is not empty.
  static grpc::Status CallEmpty(const ops::Rpc& rpc, ops::GrpcServer& server, const std::string& authorization = "") {
    grpc::GenericStub stub(server.InProcessChannel());
    grpc::ClientContext context;
    if (!authorization.empty()) context.AddMetadata("authorization", authorization);
    const grpc::Slice empty("");
    const grpc::ByteBuffer request(&empty, 1);
    grpc::ByteBuffer response;
    grpc::Status status;
    absl::Notification done;
    stub.UnaryCall(&context, "/" + rpc.service + "/" + rpc.method, {}, &request, &response, [&](grpc::Status ended) {
      status = std::move(ended);
      done.Notify();
    });
    done.WaitForNotification();
    return status;
  }
  template <typename Request, typename Response>
  grpc::Status Call(grpc::Status (v1::CatalogService::Stub::*rpc)(grpc::ClientContext*, const Request&, Response*),
                    const Request& request, Response* response) {
    grpc::ClientContext context;
    return (catalog_stub_.get()->*rpc)(&context, request, response);
  }
  template <typename Request, typename Response>
  grpc::Status Call(grpc::Status (v1::EstimatorService::Stub::*rpc)(grpc::ClientContext*, const Request&, Response*),
                    const Request& request, Response* response) {
    grpc::ClientContext context;
    return (estimator_.get()->*rpc)(&context, request, response);
  }
  // The answer of a question that must succeed.
  template <typename Request, typename Response>
  Response Must(grpc::Status (v1::EstimatorService::Stub::*rpc)(grpc::ClientContext*, const Request&, Response*),
                const Request& request) {
    Response response;
    const grpc::Status status = Call(rpc, request, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response;
  }

  absl::Time now_ = absl::FromUnixSeconds(1'700'000'000);
  ops::Metrics metrics_{"test"};
  work::FairScheduler work_{{.name = "compute", .slots = 2}};
  work::FairScheduler writes_{{.name = "store", .slots = 1}};
  std::unique_ptr<catalog::Catalog> catalog_;
  ServiceDeps deps_;
  std::unique_ptr<EstimatorService> estimator_service_;
  std::unique_ptr<CatalogService> catalog_service_;
  std::unique_ptr<ops::GrpcServer> server_;
  std::unique_ptr<v1::EstimatorService::Stub> estimator_;
  std::unique_ptr<v1::CatalogService::Stub> catalog_stub_;
};

}  // namespace foretoken::rpc

#endif  // FORETOKEN_TESTS_RPC_SERVICE_FIXTURE_H_
