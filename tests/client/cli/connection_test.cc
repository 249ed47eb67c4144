#include "client/cli/commands/connection.h"

#include <gtest/gtest.h>

#include <map>

namespace foretoken::cli {
namespace {

const char* Environment(const char* name) {
  static const auto& values = *new std::map<std::string, std::string>{
      {"FORETOKEN_SERVER", "unix:s"}, {"FORETOKEN_CA_FILE", "ca"},       {"FORETOKEN_CERT_FILE", "cert"},
      {"FORETOKEN_KEY_FILE", "key"},  {"FORETOKEN_TOKEN_FILE", "token"}, {"USER", "ann"}};
  const auto value = values.find(name);
  return value == values.end() ? nullptr : value->second.c_str();
}

TEST(ConnectionTest, EachVariableFillsItsOwn) {
  Connection connection;
  connection.Complete(Environment);
  EXPECT_EQ(connection.server, "unix:s");
  EXPECT_EQ(connection.tls.ca, "ca");
  EXPECT_EQ(connection.tls.certificate, "cert");
  EXPECT_EQ(connection.tls.key, "key");
  EXPECT_EQ(connection.token_file, "token");
  EXPECT_TRUE(connection.token_from_environment);
  EXPECT_EQ(connection.Describe(), "unix:s, over TLS");
}

TEST(ConnectionTest, AFlagWinsAndTheDefaultIsLocal) {
  Connection connection;
  connection.server = "flag:1";
  connection.token_file = "mine";
  connection.Complete(Environment);
  EXPECT_EQ(connection.server, "flag:1");
  EXPECT_EQ(connection.token_file, "mine");
  EXPECT_FALSE(connection.token_from_environment);
  Connection none;
  none.Complete([](const char*) -> const char* { return nullptr; });
  EXPECT_EQ(none.Describe(), "127.0.0.1:50051, in plain text");
}

TEST(ConnectionTest, OptionsOfACall) {
  Connection connection;
  EXPECT_EQ(connection.Options(Environment)->timeout, absl::Seconds(10));
  EXPECT_EQ(connection.Options(Environment)->sweep_timeout, absl::InfiniteDuration());
  EXPECT_EQ(connection.Options(Environment)->author.substr(0, 4), "ann@");
  connection.timeout = "250ms";
  EXPECT_EQ(connection.Options(Environment)->timeout, absl::Milliseconds(250));
  EXPECT_EQ(connection.Options(Environment)->sweep_timeout, absl::Milliseconds(250));
  for (const char* wrong : {"0", "-1s", "soon"}) {
    connection.timeout = wrong;
    EXPECT_FALSE(connection.Options(Environment).ok()) << wrong;
  }
}

}  // namespace
}  // namespace foretoken::cli
