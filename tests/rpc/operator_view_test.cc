// What an operator sees: a log line a write, metrics of every RPC, and a catalog whose store does not answer.
#include <gmock/gmock.h>

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "estimator/base/errors.h"
#include "server/ops/catalog_metrics.h"
#include "tests/catalog/catalog_fixture.h"
#include "tests/rpc/service_fixture.h"

namespace foretoken::rpc {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// The only value of a metric without labels.
double ValueOf(const std::vector<prometheus::MetricFamily>& families, const std::string& name) {
  for (const prometheus::MetricFamily& family : families) {
    if (family.name != name) continue;
    EXPECT_EQ(family.metric.size(), 1u) << name;
    return family.type == prometheus::MetricType::Counter ? family.metric[0].counter.value
                                                          : family.metric[0].gauge.value;
  }
  ADD_FAILURE() << "no metric " << name;
  return 0;
}

class OperatorViewTest : public ServiceTest {
 protected:
  // The lines about calls that `act` logs.
  template <typename Act>
  static std::vector<std::string> LinesOf(Act act) {
    testing::internal::CaptureStderr();
    act();
    std::vector<std::string> lines;
    for (const absl::string_view line : absl::StrSplit(testing::internal::GetCapturedStderr(), '\n')) {
      if (absl::StrContains(line, " event=call ")) lines.emplace_back(line);
    }
    return lines;
  }
};

TEST_F(OperatorViewTest, EveryWriteIsALogLineAndNoReadIs) {
  for (const ops::Rpc& rpc : ops::AllRpcs()) {
    const auto lines = LinesOf([&] { CallEmpty(rpc, *server_); });
    if (!rpc.writes) {
      EXPECT_THAT(lines, ElementsAre()) << rpc.method;
      continue;
    }
    ASSERT_EQ(lines.size(), 1u) << rpc.method;
    EXPECT_THAT(lines[0],
                HasSubstr(absl::StrCat(" level=info event=call method=", rpc.method, " code=INVALID_ARGUMENT")));
  }
}

TEST_F(OperatorViewTest, AWriteThatSucceedsIsALogLineToo) {
  v1::RegisterHardwareRequest request;
  request.mutable_spec()->set_id("acme-one");
  request.mutable_spec()->set_memory_bandwidth_bytes_per_second(1e12);
  v1::RegisterHardwareResponse response;
  const auto lines = LinesOf([&] { Call(&v1::CatalogService::Stub::RegisterHardware, request, &response); });
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_THAT(lines[0], HasSubstr(" level=info event=call method=RegisterHardware code=OK"));
}

// Names and streaming are those of the API's services; each RPC is counted under its own.
TEST_F(OperatorViewTest, EveryRpcIsCountedByItsName) {
  for (const ops::Rpc& rpc : ops::AllRpcs()) CallEmpty(rpc, *server_);
  std::vector<std::string> counted;
  for (const prometheus::MetricFamily& family : metrics_.Collect()) {
    if (family.name != "grpc_server_started_total") continue;
    for (const prometheus::ClientMetric& metric : family.metric) {
      EXPECT_EQ(metric.counter.value, 1) << metric.label[1].value;
      counted.push_back(absl::StrCat(metric.label[0].value, "/", metric.label[1].value, " ", metric.label[2].value));
    }
  }
  EXPECT_THAT(counted, testing::IsSupersetOf({"foretoken.v1.EstimatorService/Estimate unary",
                                              "foretoken.v1.EstimatorService/Sweep server_stream",
                                              "foretoken.v1.CatalogService/RegisterHardware unary"}));
  EXPECT_EQ(counted.size(), ops::AllRpcs().size());
}

// A service over a store whose answers the test decides.
class AwayStoreTest : public ServiceTest {
 protected:
  AwayStoreTest() {
    auto store = std::make_unique<catalog::SharedStore>(shared_);
    store_ = store.get();
    shaky_ = *catalog::Catalog::Open(*catalog::LoadEmbeddedBundle(), std::move(store), [this] { return now_; });
    deps_.catalog = shaky_.get();
    service_ = std::make_unique<EstimatorService>(deps_);
    shaky_server_ = *ops::GrpcServer::Start({.listen = ""}, {service_.get()});
    stub_ = v1::EstimatorService::NewStub(shaky_server_->InProcessChannel());
  }
  ~AwayStoreTest() override { shaky_server_->Drain(absl::Seconds(5)); }

  v1::EstimateResponse MustEstimate() {
    v1::EstimateRequest request;
    *request.mutable_scenario() = Scenario(1, 100, 10);
    v1::EstimateResponse response;
    grpc::ClientContext context;
    EXPECT_TRUE(stub_->Estimate(&context, request, &response).ok());
    return response;
  }

  catalog::MemoryStore shared_;
  catalog::SharedStore* store_ = nullptr;
  std::unique_ptr<catalog::Catalog> shaky_;
  std::unique_ptr<EstimatorService> service_;
  std::unique_ptr<ops::GrpcServer> shaky_server_;
  std::unique_ptr<v1::EstimatorService::Stub> stub_;
};

TEST_F(AwayStoreTest, EstimatesWarnOfAStaleCatalog) {
  EXPECT_EQ(MustEstimate().estimate().warnings_size(), 0);
  store_->fault = Refusal(Reason::kStoreUnavailable, "", "away");
  now_ += absl::Seconds(83);
  EXPECT_FALSE(shaky_->Refresh().ok());
  const v1::EstimateResponse stale = MustEstimate();
  ASSERT_EQ(stale.estimate().warnings_size(), 1);
  EXPECT_EQ(stale.estimate().warnings(0).code(), v1::WARNING_CODE_STALE_CATALOG);
  EXPECT_THAT(stale.estimate().warnings(0).message(), HasSubstr("1m23s"));
  EXPECT_TRUE(stale.catalog_revision().has_stale_since());
  store_->fault = absl::OkStatus();
  EXPECT_TRUE(shaky_->Refresh().ok());
  EXPECT_EQ(MustEstimate().estimate().warnings_size(), 0);
}

TEST_F(AwayStoreTest, MetricsTellHowTheCatalogStandsWithItsStore) {
  const ops::CatalogMetrics metrics(shaky_.get(), [this] { return now_; });
  EXPECT_EQ(ValueOf(metrics.Collect(), "foretoken_catalog_store_errors_total"), 0);
  EXPECT_EQ(ValueOf(metrics.Collect(), "foretoken_catalog_stale"), 0);
  store_->fault = Refusal(Reason::kStoreUnavailable, "", "away");
  const absl::Time agreed = now_;
  for (int i = 0; i < 3; ++i) {
    now_ += absl::Seconds(2);
    EXPECT_FALSE(shaky_->Refresh().ok());
  }
  const auto families = metrics.Collect();
  EXPECT_EQ(ValueOf(families, "foretoken_catalog_store_errors_total"), 3);
  EXPECT_EQ(ValueOf(families, "foretoken_catalog_stale"), 1);
  EXPECT_EQ(ValueOf(families, "foretoken_catalog_staleness_seconds"), absl::ToDoubleSeconds(now_ - agreed));
  EXPECT_EQ(ValueOf(families, "foretoken_catalog_last_error_timestamp_seconds"),
            static_cast<double>(absl::ToUnixSeconds(now_)));
  EXPECT_EQ(ValueOf(families, "foretoken_catalog_full_readings_total"), 1);
}

}  // namespace
}  // namespace foretoken::rpc
