// Who may write: the file of tokens, and every write of the real service.
#include "server/ops/write_tokens.h"

#include <gmock/gmock.h>

#include <fstream>

#include "estimator/base/errors.h"
#include "server/ops/rpcs.h"
#include "tests/catalog/temporary_folder.h"
#include "tests/rpc/service_fixture.h"

namespace foretoken::rpc {
namespace {

using testing::HasSubstr;

constexpr char kToken[] = "0123456789abcdef";

class TokensFile {
 public:
  explicit TokensFile(const std::string& text) { Write(text); }
  void Write(const std::string& text) const { std::ofstream(path()) << text; }
  std::string path() const { return folder_.File("tokens"); }

 private:
  catalog::TemporaryFolder folder_;
};

TEST(WriteTokensTest, Lines) {
  struct Case {
    const char* name;
    std::string text;
    const char* fault;  // empty: none
  };
  const std::string token = kToken;
  const Case cases[] = {
      {"one", "ci " + token + "\n", ""},
      {"without an end of line, with tabs", "ci\t " + token, ""},
      {"comments and empty lines", "# who\n\n  \nci " + token + "\n", ""},
      {"nobody", "", ""},
      {"no name", token + "\n", "line 1: allowed: a name and a token of 16 to 512 printable characters"},
      {"too short", "# who\nci 0123456789abcde\n", "line 2: allowed"},
      {"too long", "ci " + std::string(513, 'x'), "line 1: allowed"},
      {"not printable", "ci p\xc3\xa4ssw\xc3\xb6rd-0123456789", "line 1: allowed"},
      {"three words", "ci job " + token, "line 1: allowed"},
  };
  for (const Case& c : cases) {
    const TokensFile file(c.text);
    const absl::Status status = ops::WriteTokens(file.path()).Check();
    EXPECT_EQ(status.ok(), std::string_view(c.fault).empty()) << c.name << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(c.fault)) << c.name;
  }
  EXPECT_THAT(std::string(ops::WriteTokens("/nowhere").Check().message()), HasSubstr("/nowhere cannot be read"));
  EXPECT_THAT(std::string(ops::WriteTokens("/tmp").Check().message()), HasSubstr("/tmp cannot be read as a file"));
  const TokensFile large(std::string((1 << 20) + 1, '\n'));
  EXPECT_THAT(std::string(ops::WriteTokens(large.path()).Check().message()), HasSubstr("allowed up to 1048576 bytes"));
}

TEST(WriteTokensTest, NamesWhoBearsAToken) {
  const TokensFile file(std::string("ci ") + kToken + "\nlab fedcba9876543210\n");
  const ops::WriteTokens tokens(file.path());
  EXPECT_EQ(*tokens.WriterOf(std::string("Bearer ") + kToken), "ci");
  EXPECT_EQ(*tokens.WriterOf("bearer fedcba9876543210"), "lab");
  for (const std::string wrong : {"", "Bearer ", "Bearer 0123456789abcde", kToken, "Basic "}) {
    EXPECT_EQ(DetailOf(tokens.WriterOf(wrong).status()).reason, Reason::kWriteNotAllowed) << wrong;
  }
  EXPECT_EQ(*tokens.WriterOf(std::string("Bearer  ") + kToken + " "), "ci");
  file.Write("ci short\n");  // which file and line is for the log alone
  EXPECT_EQ(tokens.WriterOf(std::string("Bearer ") + kToken).status(),
            absl::UnavailableError("the server's file of write tokens cannot be used; its log tells why"));
  file.Write("ci fedcba9876543210\n");
  EXPECT_FALSE(tokens.WriterOf(std::string("Bearer ") + kToken).ok());
  EXPECT_EQ(*tokens.WriterOf("Bearer fedcba9876543210"), "ci");
}

class WriteAccessTest : public ServiceTest {
 protected:
  WriteAccessTest() {
    deps_.write_tokens = &tokens_;
    service_ = std::make_unique<CatalogService>(deps_);
    guarded_ = *ops::GrpcServer::Start({.listen = ""}, {service_.get(), estimator_service_.get()});
  }
  ~WriteAccessTest() override { guarded_->Drain(absl::Seconds(5)); }

  // Why the RPC refuses an empty request.
  std::string ReasonOf(const ops::Rpc& rpc, const std::string& authorization) {
    return PartsOf(CallEmpty(rpc, *guarded_, authorization)).reason;
  }

  const TokensFile file_{std::string("ci ") + kToken + "\n"};
  const ops::WriteTokens tokens_{file_.path()};
  std::unique_ptr<CatalogService> service_;
  std::unique_ptr<ops::GrpcServer> guarded_;
};

// Refused before the request is looked at; with the token it is the request that is wrong.
TEST_F(WriteAccessTest, EveryWriteNeedsAToken) {
  int writes = 0;
  for (const ops::Rpc& rpc : ops::AllRpcs()) {
    if (!rpc.writes) continue;
    ++writes;
    EXPECT_EQ(ReasonOf(rpc, ""), "WRITE_NOT_ALLOWED") << rpc.method;
    EXPECT_EQ(ReasonOf(rpc, "Bearer 0123456789abcdeX"), "WRITE_NOT_ALLOWED") << rpc.method;
    EXPECT_EQ(ReasonOf(rpc, std::string("Bearer ") + kToken), "INVALID_FIELD") << rpc.method;
  }
  EXPECT_GE(writes, 6);
}

TEST_F(WriteAccessTest, ReadsDoNot) {
  for (const ops::Rpc& rpc : ops::AllRpcs()) {
    if (rpc.writes) continue;
    EXPECT_NE(ReasonOf(rpc, ""), "WRITE_NOT_ALLOWED") << rpc.method;
  }
}

}  // namespace
}  // namespace foretoken::rpc
