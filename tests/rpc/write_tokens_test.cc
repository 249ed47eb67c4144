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
      {"roles", "a " + token + " read\nb " + token + "b write\nc " + token + "c\tadmin\n", ""},
      {"no such role", "ci " + token + " root", "line 1: allowed"},
      {"a role in capitals", "ci " + token + " READ", "line 1: allowed"},
      {"two roles", "ci " + token + " read write", "line 1: allowed"},
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

TEST(WriteTokensTest, ALineWithoutARoleMayWrite) {
  const TokensFile file("ci 0123456789abcdef\nview 0123456789abcde1 read\nroot 0123456789abcde2 admin\n");
  const ops::WriteTokens tokens(file.path());
  EXPECT_EQ(tokens.OwnerOf("Bearer 0123456789abcdef")->role, ops::Role::kWrite);
  EXPECT_EQ(tokens.OwnerOf("Bearer 0123456789abcde1")->role, ops::Role::kRead);
  EXPECT_EQ(tokens.OwnerOf("bearer 0123456789abcde2")->role, ops::Role::kAdmin);
  EXPECT_EQ(tokens.OwnerOf("Bearer 0123456789abcde2")->name, "root");
  EXPECT_FALSE(tokens.OwnerOf("Bearer 0123456789abcde3"));
  EXPECT_FALSE(tokens.OwnerOf(""));
  EXPECT_FALSE(tokens.OwnerOf("0123456789abcdef"));
  EXPECT_EQ(DetailOf(tokens.WriterOf("Bearer 0123456789abcde1").status()).reason, Reason::kWriteNotAllowed);
  EXPECT_EQ(*tokens.WriterOf("Bearer 0123456789abcde2"), "root");
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

// A server that answers those alone who send a token.
class ReadAccessTest : public ServiceTest {
 protected:
  ReadAccessTest() {
    deps_.write_tokens = &tokens_;
    deps_.require_token_to_read = true;
    catalogs_ = std::make_unique<CatalogService>(deps_);
    estimators_ = std::make_unique<EstimatorService>(deps_);
    guarded_ = *ops::GrpcServer::Start({.listen = ""}, {catalogs_.get(), estimators_.get()});
  }
  ~ReadAccessTest() override { guarded_->Drain(absl::Seconds(5)); }

  double Failures(const std::string& reason) const {
    for (const prometheus::MetricFamily& family : metrics_.Collect()) {
      if (family.name != "foretoken_authentication_failures_total") continue;
      for (const prometheus::ClientMetric& metric : family.metric) {
        if (metric.label[0].value == reason) return metric.counter.value;
      }
    }
    return -1;
  }

  const TokensFile file_{"ci 0123456789abcdef\nview 0123456789abcde1 read\n"};
  const ops::WriteTokens tokens_{file_.path()};
  std::unique_ptr<CatalogService> catalogs_;
  std::unique_ptr<EstimatorService> estimators_;
  std::unique_ptr<ops::GrpcServer> guarded_;
};

TEST_F(ReadAccessTest, EveryCallNeedsAToken) {
  int refused = 0;
  for (const ops::Rpc& rpc : ops::AllRpcs()) {
    for (const char* wrong : {"", "Bearer 0123456789abcdeX"}) {
      EXPECT_EQ(CallEmpty(rpc, *guarded_, wrong).error_code(), grpc::StatusCode::UNAUTHENTICATED) << rpc.method;
      ++refused;
    }
    EXPECT_NE(CallEmpty(rpc, *guarded_, "Bearer 0123456789abcdef").error_code(), grpc::StatusCode::UNAUTHENTICATED)
        << rpc.method;
    const bool allowed =
        CallEmpty(rpc, *guarded_, "Bearer 0123456789abcde1").error_code() != grpc::StatusCode::UNAUTHENTICATED;
    EXPECT_EQ(allowed, !rpc.writes) << rpc.method;
  }
  EXPECT_EQ(Failures("no_token"), refused / 2);
  EXPECT_EQ(Failures("unknown_token"), refused / 2);
  EXPECT_EQ(Failures("role"), std::count_if(ops::AllRpcs().begin(), ops::AllRpcs().end(),
                                            [](const ops::Rpc& rpc) { return rpc.writes; }));
}

// A proxy in front may have looked at the other one.
TEST_F(ReadAccessTest, TwoTokensAreNone) {
  for (const bool write : {false, true}) {
    const auto stub = v1::CatalogService::NewStub(guarded_->InProcessChannel());
    grpc::ClientContext context;
    context.AddMetadata("authorization", "Bearer 0123456789abcdef");
    context.AddMetadata("authorization", "Bearer 0123456789abcdef");
    v1::DeleteHardwareResponse deleted;
    v1::ListModelsResponse listed;
    const grpc::Status status = write ? stub->DeleteHardware(&context, v1::DeleteHardwareRequest(), &deleted)
                                      : stub->ListModels(&context, v1::ListModelsRequest(), &listed);
    EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAUTHENTICATED);
    EXPECT_THAT(status.error_message(), HasSubstr("more than once"));
  }
  EXPECT_EQ(Failures("several_tokens"), 2);
}

TEST_F(ReadAccessTest, WritersAreNamedToWritersAlone) {
  const auto stub = v1::CatalogService::NewStub(guarded_->InProcessChannel());
  const auto with = [](grpc::ClientContext& context, const char* token) -> grpc::ClientContext* {
    context.AddMetadata("authorization", std::string("Bearer ") + token);
    return &context;
  };
  grpc::ClientContext writing, reading, asking;
  v1::RegisterHardwareRequest request;
  request.mutable_spec()->set_id("chip");
  request.mutable_spec()->set_memory_bandwidth_bytes_per_second(1e12);
  v1::RegisterHardwareResponse registered;
  ASSERT_TRUE(stub->RegisterHardware(with(writing, "0123456789abcdef"), request, &registered).ok());
  v1::ListRevisionsRequest revisions;
  revisions.set_hardware_id("chip");
  v1::ListRevisionsResponse to_writer, to_reader;
  ASSERT_TRUE(stub->ListRevisions(with(asking, "0123456789abcdef"), revisions, &to_writer).ok());
  ASSERT_TRUE(stub->ListRevisions(with(reading, "0123456789abcde1"), revisions, &to_reader).ok());
  EXPECT_EQ(to_writer.revisions(0).author(), "ci");
  EXPECT_NE(to_writer.revisions(0).peer(), "");
  EXPECT_EQ(to_reader.revisions(0).author(), "");
  EXPECT_EQ(to_reader.revisions(0).peer(), "");
  EXPECT_EQ(to_reader.revisions(0).etag(), to_writer.revisions(0).etag());
}

}  // namespace
}  // namespace foretoken::rpc
