// The library against the fake server, over an in-process channel.
#include <gmock/gmock.h>
#include <google/protobuf/descriptor.h>
#include <google/protobuf/descriptor.pb.h>
#include <gtest/gtest.h>

#include <functional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "client/client.h"
#include "client/status_details.h"
#include "tests/client/fake_server.h"

namespace foretoken::client {
namespace {

class ClientTest : public testing::Test {
 protected:
  ClientOptions Options() {
    ClientOptions options;
    options.sleep = [this](absl::Duration wait) { waits_.push_back(wait); };
    return options;
  }

  v1::EstimateRequest Request(const std::string& model, const std::string& hardware) {
    v1::EstimateRequest request;
    request.mutable_scenario()->set_model_id(model);
    request.mutable_scenario()->set_hardware_id(hardware);
    request.mutable_scenario()->mutable_workload()->set_batch_size(2);
    request.mutable_scenario()->mutable_workload()->set_output_tokens(11);
    return request;
  }

  v1::SweepRequest Grid() {
    v1::SweepRequest request;
    v1::SweepAxis& axis = *request.add_axes();
    axis.set_field("workload.batch_size");
    for (const double batch : {1, 2, 4}) axis.mutable_numbers()->add_values(batch);
    return request;
  }

  FakeServer server_;
  std::vector<absl::Duration> waits_;
  Client client_{server_.InProcess(), Options()};
};

TEST_F(ClientTest, EstimateAnswers) {
  const auto response = client_.Estimate(Request("small", "gpu-a"));
  ASSERT_TRUE(response.ok()) << response.status();
  EXPECT_DOUBLE_EQ(response->estimate().ttft().seconds(), 0.02);  // 10 ms * 2 sequences
  EXPECT_DOUBLE_EQ(response->estimate().e2e().seconds(), 0.02 + 10 * 0.002);
  EXPECT_EQ(response->catalog_revision().store_revision(), 7);
}

TEST_F(ClientTest, AnAuthorTravelsWithoutWhatNoHeaderHolds) {
  ClientOptions options = Options();
  options.author = "J\xc3\xb6rg\tat\nCI";
  Client client(server_.InProcess(), options);
  v1::RollbackHardwareRequest request;
  request.set_hardware_id("gpu-a");
  request.set_store_revision(5);
  ASSERT_TRUE(client.RollbackHardware(request).ok());
  EXPECT_EQ(server_.catalog.last_author, "JrgatCI");
}

TEST_F(ClientTest, EveryCallCarriesTheTokenAndWritesTheAuthor) {
  ClientOptions options = Options();
  options.author = "ann";
  options.write_token = "s3cret";
  const Client client(server_.InProcess(), options);
  const std::vector<std::function<bool()>> writes = {
      [&] { return client.RegisterHardware(v1::RegisterHardwareRequest()).ok(); },
      [&] { return client.RegisterModel(v1::RegisterModelRequest()).ok(); },
      [&] { return client.DeleteHardware(v1::DeleteHardwareRequest()).ok(); },
      [&] { return client.DeleteModel(v1::DeleteModelRequest()).ok(); },
      [&] { return client.RollbackHardware(v1::RollbackHardwareRequest()).ok(); },
      [&] { return client.RollbackModel(v1::RollbackModelRequest()).ok(); }};
  for (size_t i = 0; i < writes.size(); ++i) {
    server_.catalog.last_author = server_.catalog.last_authorization = "";
    EXPECT_TRUE(writes[i]()) << i;
    EXPECT_EQ(server_.catalog.last_author, "ann") << i;
    EXPECT_EQ(server_.catalog.last_authorization, "Bearer s3cret") << i;
  }
  v1::GetHardwareRequest read;
  read.set_hardware_id("gpu-a");
  ASSERT_TRUE(client.GetHardware(read).ok());
  EXPECT_EQ(server_.catalog.last_author, "");
  EXPECT_EQ(server_.catalog.last_authorization, "Bearer s3cret");
}

// gRPC's word for a call that a server had not read when it ended.
TEST_F(ClientTest, ADroppedCallIsTriedAgain) {
  server_.estimator.refusal = grpc::Status(grpc::StatusCode::CANCELLED, "CANCELLED");
  const absl::Status status = client_.Estimate(Request("small", "gpu-a")).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable) << status;
  EXPECT_EQ(server_.estimator.calls, 4);
}

TEST_F(ClientTest, MessagesArePrintable) {
  server_.estimator.refusal =
      Refuse(grpc::StatusCode::NOT_FOUND, "UNKNOWN_ID", "unknown \"\033[2J\u202e\"", "a.\033[2J");
  const absl::Status status = client_.Estimate(Request("small", "gpu-a")).status();
  EXPECT_EQ(status.message(), "unknown \"\\x1b[2J\\u202e\"");
  EXPECT_EQ(DetailsOf(status).fields.at(0).path, "a.\\x1b[2J");
}

TEST_F(ClientTest, TheTimeoutEndsACallThatIsNotAnswered) {
  ClientOptions options = Options();
  options.timeout = absl::Milliseconds(50);
  options.sweep_timeout = absl::Milliseconds(50);
  const Client client(server_.InProcess(), options);
  server_.estimator.silent = server_.estimator.endless = true;
  EXPECT_EQ(client.Estimate(Request("small", "gpu-a")).status().code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_EQ(ForEachRow(*client.Sweep(Grid()), [](const SweepRow&) { return true; }).code(),
            absl::StatusCode::kDeadlineExceeded);
}

TEST_F(ClientTest, ASweepWithoutHeaderOrSummaryIsDataLoss) {
  server_.estimator.cut = true;
  EXPECT_EQ(ForEachRow(*client_.Sweep(Grid()), [](const SweepRow&) { return true; }).code(),
            absl::StatusCode::kDataLoss);
  server_.estimator.headless = true;
  EXPECT_EQ(client_.Sweep(Grid())->ReadHeader().status().code(), absl::StatusCode::kDataLoss);
}

TEST_F(ClientTest, ReadChunkNeedsTheHeaderAndEndsOnce) {
  const auto sweep = client_.Sweep(Grid());
  EXPECT_EQ(sweep->ReadChunk().status().code(), absl::StatusCode::kFailedPrecondition);
  ASSERT_TRUE(sweep->ReadHeader().ok());
  ASSERT_TRUE(sweep->ReadHeader().ok());
  EXPECT_EQ(server_.estimator.calls, 1);
  for (int chunk = 0; chunk < 2; ++chunk) EXPECT_TRUE(sweep->ReadChunk()->has_value());
  for (int end = 0; end < 2; ++end) EXPECT_FALSE(sweep->ReadChunk()->has_value());
}

TEST_F(ClientTest, ACancelledSweepDoesNotBegin) {
  const auto sweep = client_.Sweep(Grid());
  sweep->Cancel();
  EXPECT_EQ(sweep->ReadHeader().status().code(), absl::StatusCode::kCancelled);
  EXPECT_EQ(server_.estimator.calls, 0);
}

TEST_F(ClientTest, RefusalKeepsItsDetails) {
  const absl::Status status = client_.Estimate(Request("small", "gpu-c")).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  const ErrorDetails details = DetailsOf(status);
  EXPECT_EQ(details.reason, "UNKNOWN_ID");
  ASSERT_EQ(details.fields.size(), 1u);
  EXPECT_EQ(details.fields[0].path, "scenario.hardware_id");
}

TEST_F(ClientTest, ReadsAreRetriedWhileUnavailable) {
  server_.estimator.failures = 2;
  EXPECT_TRUE(client_.Estimate(Request("small", "gpu-a")).ok());
  EXPECT_EQ(server_.estimator.calls, 3);
  EXPECT_EQ(waits_.size(), 2u);
}

TEST_F(ClientTest, RetriesAreBounded) {
  server_.estimator.failures = 100;
  EXPECT_EQ(client_.Estimate(Request("small", "gpu-a")).status().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(server_.estimator.calls, RetryPolicy().max_attempts);
}

TEST_F(ClientTest, OtherErrorsAreNotRetried) {
  EXPECT_EQ(client_.Estimate(Request("large", "gpu-a")).status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(server_.estimator.calls, 1);
}

TEST_F(ClientTest, WritesAreRetriedOnlyWithARequestId) {
  struct Case {
    const char* name;
    const char* request_id;
    int want_calls;
    absl::StatusCode want;
  };
  for (const Case& c :
       {Case{"without", "", 1, absl::StatusCode::kUnavailable}, Case{"with", "r1", 2, absl::StatusCode::kOk}}) {
    SCOPED_TRACE(c.name);
    server_.catalog.calls = 0;
    server_.catalog.failures = 1;
    v1::RegisterHardwareRequest request;
    request.set_request_id(c.request_id);
    EXPECT_EQ(client_.RegisterHardware(request).status().code(), c.want);
    EXPECT_EQ(server_.catalog.calls, c.want_calls);
    server_.catalog.failures = 0;
  }
}

TEST_F(ClientTest, SweepInColumns) {
  const auto sweep = client_.Sweep(Grid());
  const auto header = sweep->ReadHeader();
  ASSERT_TRUE(header.ok()) << header.status();
  EXPECT_EQ(header->total_points(), 3);
  std::vector<int64_t> firsts;
  for (auto chunk = sweep->ReadChunk(); chunk.ok() && chunk->has_value(); chunk = sweep->ReadChunk()) {
    firsts.push_back((*chunk)->first_point());
  }
  EXPECT_THAT(firsts, testing::ElementsAre(0, 1));
  EXPECT_EQ(sweep->summary().ok_points(), 2);
}

TEST_F(ClientTest, SweepInRows) {
  const auto sweep = client_.Sweep(Grid());
  std::vector<std::string> rows;
  const absl::Status status = ForEachRow(*sweep, [&rows](const SweepRow& row) {
    rows.push_back(std::to_string(std::get<double>(row.coordinates[0])).substr(0, 1) + ":" +
                   std::to_string(row.status));
    return true;
  });
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_THAT(rows, testing::ElementsAre("1:0", "2:0", "4:9"));
}

TEST_F(ClientTest, SweepIsRetriedBeforeItsHeader) {
  server_.estimator.failures = 1;
  const auto sweep = client_.Sweep(Grid());
  EXPECT_TRUE(sweep->ReadHeader().ok());
  EXPECT_EQ(server_.estimator.calls, 2);
}

TEST_F(ClientTest, CancelStopsASweepThatIsBeingRead) {
  server_.estimator.endless = true;
  const auto sweep = client_.Sweep(Grid());
  ASSERT_TRUE(sweep->ReadHeader().ok());
  ASSERT_TRUE(sweep->ReadChunk().ok());
  std::thread other([&sweep] { sweep->Cancel(); });
  absl::Status status;
  while (status.ok()) status = sweep->ReadChunk().status();
  other.join();
  EXPECT_EQ(status.code(), absl::StatusCode::kCancelled);
}

TEST_F(ClientTest, AStreamThatIsDroppedIsCancelled) {
  server_.estimator.endless = true;
  auto sweep = client_.Sweep(Grid());
  ASSERT_TRUE(sweep->ReadHeader().ok());
  sweep.reset();
  // The next call is answered, so the endless one has ended or runs beside it; its end is seen by the server's
  // shutdown.
  EXPECT_TRUE(client_.Estimate(Request("small", "gpu-a")).ok());
}

TEST_F(ClientTest, AReaderMayStopASweep) {
  const absl::Status status = ForEachRow(*client_.Sweep(Grid()), [](const SweepRow&) { return false; });
  EXPECT_EQ(status.code(), absl::StatusCode::kCancelled);
}

TEST_F(ClientTest, Health) {
  EXPECT_EQ(client_.Health().value(), "SERVING");
  server_.SetServing(false);
  EXPECT_EQ(client_.Health().value(), "NOT_SERVING");
}

TEST(DialTest, NoServerIsUnavailableAfterBoundedRetries) {
  ClientOptions options;
  int waits = 0;
  options.sleep = [&waits](absl::Duration) { ++waits; };
  const Client client(Dial("unix:/nonexistent/foretoken.sock"), options);
  EXPECT_EQ(client.Health().status().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(waits, RetryPolicy().max_attempts - 1);
}

// The requests that Retries was asked about.
std::set<std::string>& AskedAbout() {
  static auto& names = *new std::set<std::string>;
  return names;
}

// The requests of all unary RPCs that have, or have not, side effects.
std::set<std::string> UnaryRequests(bool writes) {
  std::set<std::string> names;
  for (const google::protobuf::FileDescriptor* file :
       {v1::EstimateRequest::descriptor()->file(), v1::RegisterModelRequest::descriptor()->file()}) {
    for (int i = 0; i < file->service(0)->method_count(); ++i) {
      const google::protobuf::MethodDescriptor& rpc = *file->service(0)->method(i);
      const bool is_write = rpc.options().idempotency_level() != google::protobuf::MethodOptions::NO_SIDE_EFFECTS;
      if (!rpc.server_streaming() && is_write == writes) names.insert(rpc.input_type()->name());
    }
  }
  return names;
}

// How often a call to no server is repeated.
template <typename Request, typename Response>
int Retries(absl::StatusOr<Response> (Client::*rpc)(const Request&) const, const Request& request = Request()) {
  AskedAbout().insert(Request::descriptor()->name());
  int waits = 0;
  ClientOptions options;
  options.sleep = [&waits](absl::Duration) { ++waits; };
  const Client client(Dial("unix:/nonexistent/foretoken.sock"), options);
  EXPECT_EQ((client.*rpc)(request).status().code(), absl::StatusCode::kUnavailable);
  return waits;
}

template <typename Request, typename Response>
void ExpectRetriedByRequestIdAlone(absl::StatusOr<Response> (Client::*rpc)(const Request&) const) {
  Request request;
  EXPECT_EQ(Retries(rpc, request), 0) << request.GetTypeName();
  request.set_request_id("r1");
  EXPECT_EQ(Retries(rpc, request), RetryPolicy().max_attempts - 1) << request.GetTypeName();
}

TEST(DialTest, EveryWriteIsRetriedByItsRequestIdAlone) {
  AskedAbout().clear();
  ExpectRetriedByRequestIdAlone(&Client::RegisterHardware);
  ExpectRetriedByRequestIdAlone(&Client::RegisterModel);
  ExpectRetriedByRequestIdAlone(&Client::DeleteHardware);
  ExpectRetriedByRequestIdAlone(&Client::DeleteModel);
  ExpectRetriedByRequestIdAlone(&Client::RollbackHardware);
  ExpectRetriedByRequestIdAlone(&Client::RollbackModel);
  EXPECT_EQ(AskedAbout(), UnaryRequests(true)) << "the client has a function for every RPC";
}

TEST(DialTest, EveryReadIsRetried) {
  AskedAbout().clear();
  const int all = RetryPolicy().max_attempts - 1;
  EXPECT_EQ(Retries(&Client::Estimate), all);
  EXPECT_EQ(Retries(&Client::BatchEstimate), all);
  EXPECT_EQ(Retries(&Client::Solve), all);
  EXPECT_EQ(Retries(&Client::Simulate), all);
  EXPECT_EQ(Retries(&Client::GetHardware), all);
  EXPECT_EQ(Retries(&Client::GetModel), all);
  EXPECT_EQ(Retries(&Client::GetCalibration), all);
  EXPECT_EQ(Retries(&Client::ListHardware), all);
  EXPECT_EQ(Retries(&Client::ListModels), all);
  EXPECT_EQ(Retries(&Client::ListCalibrations), all);
  EXPECT_EQ(Retries(&Client::ListRevisions), all);
  EXPECT_EQ(Retries(&Client::GetCatalogStatus), all);
  EXPECT_EQ(AskedAbout(), UnaryRequests(false)) << "the client has a function for every RPC";
}

TEST(DialTest, TheTimeoutBoundsTheCallWithItsRetries) {
  ClientOptions options;
  options.timeout = absl::Milliseconds(20);
  options.retry.initial_backoff = absl::Seconds(10);
  options.retry.max_backoff = absl::Seconds(10);
  options.sleep = [](absl::Duration) { ADD_FAILURE() << "waited past the deadline"; };
  const Client client(Dial("unix:/nonexistent/foretoken.sock"), options);
  EXPECT_FALSE(client.Health().ok());
}

}  // namespace
}  // namespace foretoken::client
