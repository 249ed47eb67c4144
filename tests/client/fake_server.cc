#include "tests/client/fake_server.h"

#include <grpcpp/ext/health_check_service_server_builder_option.h>
#include <grpcpp/health_check_service_interface.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server_builder.h>

#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"

namespace foretoken::client {

grpc::Status Refuse(grpc::StatusCode code, const std::string& reason, const std::string& message,
                    const std::string& field) {
  google::rpc::Status status;
  status.set_code(code);
  status.set_message(message);
  google::rpc::ErrorInfo info;
  info.set_reason(reason);
  info.set_domain("foretoken.v1");
  status.add_details()->PackFrom(info);
  if (!field.empty()) {
    google::rpc::BadRequest bad;
    bad.add_field_violations()->set_field(field);
    bad.mutable_field_violations(0)->set_description(message);
    status.add_details()->PackFrom(bad);
  }
  return {code, message, status.SerializeAsString()};
}

FakeServer::FakeServer() {
  grpc::EnableDefaultHealthCheckService(true);
  int port = 0;
  grpc::ServerBuilder builder;
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
  builder.RegisterService(&estimator);
  builder.RegisterService(&catalog);
  server_ = builder.BuildAndStart();
  address_ = "127.0.0.1:" + std::to_string(port);
}

FakeServer::~FakeServer() {
  server_->Shutdown();
  server_->Wait();
}

std::shared_ptr<grpc::Channel> FakeServer::InProcess() { return server_->InProcessChannel({}); }

void FakeServer::SetServing(bool serving) { server_->GetHealthCheckService()->SetServingStatus(serving); }

}  // namespace foretoken::client
