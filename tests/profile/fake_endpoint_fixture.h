// A running FakeEndpoint, and what is asked of it.
#ifndef FORETOKEN_TESTS_PROFILE_FAKE_ENDPOINT_FIXTURE_H_
#define FORETOKEN_TESTS_PROFILE_FAKE_ENDPOINT_FIXTURE_H_

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tests/profile/fake_endpoint.h"
#include "tests/profile/raw_client.h"

namespace foretoken::fake {

class FakeEndpointFixture : public testing::Test {
 protected:
  void Start(FakeEndpointOptions options = {}, const Efficiencies& efficiencies = GenericServedPrior()) {
    absl::StatusOr<StepModel> model = MakeFakeStepModel("llama-3.1-8b", "nvidia-h100-sxm-80gb", efficiencies);
    ASSERT_TRUE(model.ok()) << model.status();
    auto endpoint = FakeEndpoint::Start(*std::move(model), std::move(options));
    ASSERT_TRUE(endpoint.ok()) << endpoint.status();
    endpoint_ = *std::move(endpoint);
  }

  // "1,1,1": so many tokens of a prompt.
  static std::string Numbers(int count) {
    std::string text = "1";
    for (int i = 1; i < count; ++i) text += ",1";
    return text;
  }
  // The body of a request with these fields; the model is the served one, unless they state it.
  static std::string Body(const std::string& fields) {
    return absl::StrCat("{", absl::StrContains(fields, "\"model\"") ? "" : "\"model\": \"fake-model\", ", fields, "}");
  }
  // A client that has sent a request.
  std::unique_ptr<RawClient> Sent(const std::string& fields, const std::string& path = "/v1/completions") const {
    auto client = std::make_unique<RawClient>(endpoint_->port());
    client->Send("POST", path, Body(fields));
    return client;
  }
  // A client that has the answer.
  std::unique_ptr<RawClient> Asked(const std::string& fields, const std::string& path = "/v1/completions") const {
    auto client = Sent(fields, path);
    client->ReadAnswer();
    return client;
  }
  std::string Got(const std::string& path) const {
    RawClient client(endpoint_->port());
    client.Send("GET", path);
    client.ReadAnswer();
    return absl::StrCat(client.Status(), "\n", client.Body());
  }

  std::unique_ptr<FakeEndpoint> endpoint_;
};

}  // namespace foretoken::fake

#endif  // FORETOKEN_TESTS_PROFILE_FAKE_ENDPOINT_FIXTURE_H_
