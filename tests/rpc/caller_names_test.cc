// Who shares turns and bounds with whom.
#include "server/rpc/wire/caller_names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <vector>

#include "grpcpp/create_channel.h"
#include "grpcpp/security/credentials.h"
#include "tests/rpc/service_fixture.h"

namespace foretoken::rpc {
namespace {

TEST(CallerNamesTest, AnAddressHasNoPort) {
  struct Case {
    const char* peer;
    const char* want;
  };
  const Case cases[] = {
      {"ipv4:192.0.2.7:4711", "192.0.2.7"},
      {"ipv6:%5B2001:db8:1:2:3:4:5:6%5D:4711", "2001:db8:1:2::/64"},
      {"ipv6:[2001:db8:1:2:ffff::1]:1", "2001:db8:1:2::/64"},
      {"ipv6:%5B::ffff:192.0.2.7%5D:4711", "192.0.2.7"},
      {"unix:/run/foretoken.sock", "unix"},
      {"unix:", "unix"},
      {"inproc", "inproc"},
      {"ipv4:nonsense", "ipv4"},
      {"", ""},
  };
  for (const Case& c : cases) EXPECT_EQ(AddressOfPeer(c.peer), c.want) << c.peer;
}

TEST(CallerNamesTest, OnlyTheLastAddressBeforeTheTrustedOnesCounts) {
  const std::vector<std::string> proxies = {"10.0.0.1", "2001:db8::/64"};
  struct Case {
    std::vector<std::string> forwarded;
    const char* want;
  };
  const Case cases[] = {
      {{"192.0.2.7"}, "192.0.2.7"},
      {{"198.51.100.1, 192.0.2.7"}, "192.0.2.7"},  // the first is what the caller claims
      {{"198.51.100.1", "192.0.2.7, 10.0.0.1"}, "192.0.2.7"},
      {{"192.0.2.7:5555 , 2001:db8::9"}, "192.0.2.7"},
      {{"192.0.2.7, unknown"}, ""},
      {{"10.0.0.1"}, ""},
      {{}, ""},
  };
  for (const Case& c : cases)
    EXPECT_EQ(ForwardedAddress(c.forwarded, proxies), c.want) << testing::PrintToString(c.forwarded);
}

TEST(CallerNamesTest, AFlagNamesAddressesAsPeersAreNamed) {
  EXPECT_EQ(NameOfAddress("10.0.0.1"), "10.0.0.1");
  EXPECT_EQ(NameOfAddress("2001:db8::9"), "2001:db8::/64");
  EXPECT_EQ(NameOfAddress("unix"), "unix");
  EXPECT_EQ(NameOfAddress("10.0.0.1:80"), "");
  EXPECT_EQ(NameOfAddress("proxy.example"), "");
}

// A server of its own over loopback, where calls have addresses; the one service tells its caller's name.
class NameService : public v1::CatalogService::CallbackService {
 public:
  explicit NameService(const CallerNames& names) : names_(names) {}
  grpc::ServerUnaryReactor* GetCatalogStatus(grpc::CallbackServerContext* context, const v1::GetCatalogStatusRequest*,
                                             v1::GetCatalogStatusResponse* response) override {
    response->set_last_error(names_.NameOf(*context));
    grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
    reactor->Finish(grpc::Status::OK);
    return reactor;
  }

 private:
  const CallerNames& names_;
};

class NamedCallTest : public testing::Test {
 protected:
  static std::string NameOf(const CallerNames& names,
                            const std::vector<std::pair<std::string, std::string>>& metadata) {
    NameService service(names);
    const auto server = *ops::GrpcServer::Start({.listen = "127.0.0.1:0"}, {&service});
    const auto stub =
        v1::CatalogService::NewStub(grpc::CreateChannel(server->address(), grpc::InsecureChannelCredentials()));
    grpc::ClientContext context;
    for (const auto& [key, value] : metadata) context.AddMetadata(key, value);
    v1::GetCatalogStatusResponse response;
    EXPECT_TRUE(stub->GetCatalogStatus(&context, {}, &response).ok());
    server->Drain(absl::Seconds(5));
    return response.last_error();
  }
};

TEST_F(NamedCallTest, AForwardedAddressCountsFromTrustedProxiesAlone) {
  const std::vector<std::pair<std::string, std::string>> forwarded = {{"x-forwarded-for", "192.0.2.7"}};
  EXPECT_EQ(NameOf(CallerNames(nullptr, {}), forwarded), "address 127.0.0.1");
  EXPECT_EQ(NameOf(CallerNames(nullptr, {"127.0.0.1"}), forwarded), "address 192.0.2.7");
  EXPECT_EQ(NameOf(CallerNames(nullptr, {"127.0.0.1"}), {}), "address 127.0.0.1");
}

TEST_F(NamedCallTest, ATokenOfTheServerNamesItsCaller) {
  const std::string path = testing::TempDir() + "/caller_names_tokens";
  std::ofstream(path) << "ci 0123456789abcdef\n";
  const ops::WriteTokens tokens(path);
  const CallerNames names(&tokens, {});
  EXPECT_EQ(NameOf(names, {{"authorization", "Bearer 0123456789abcdef"}}), "token ci");
  EXPECT_EQ(NameOf(names, {{"authorization", "Bearer 0123456789abcdeX"}}), "address 127.0.0.1");
  EXPECT_EQ(NameOf(names, {{"authorization", "ci"}}), "address 127.0.0.1");
  EXPECT_EQ(NameOf(names, {}), "address 127.0.0.1");
}

}  // namespace
}  // namespace foretoken::rpc
