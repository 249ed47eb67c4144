// An OpenAI-compatible endpoint whose engine is known: for tests of `foretoken profile`, which measures an endpoint and
// fits the step model to it. Here the steps take what the step model says, so the fit can be compared with the truth.
//
//   const StepModel truth = *MakeFakeStepModel("llama-3.1-8b", "nvidia-h100-sxm-80gb", efficiencies);
//   const auto endpoint = *FakeEndpoint::Start(truth, {.faults = {.reset = 0.1}});
//   ... measure endpoint->url() ...
//   endpoint->engine().requests()   // when each token was made
//
// It writes what vLLM writes: GET /v1/models, /version, /health and /metrics; POST /v1/completions and
// /v1/chat/completions, as server-sent events or whole. A prompt has one token a word, or the tokens that it lists.
// Each token's text is one word. Prefix caching is off, unless the fault is on.
#ifndef FORETOKEN_TESTS_PROFILE_FAKE_ENDPOINT_H_
#define FORETOKEN_TESTS_PROFILE_FAKE_ENDPOINT_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "estimator/scenario/efficiencies.h"
#include "tests/profile/fake_engine.h"
#include "tests/profile/fake_faults.h"
#include "tests/profile/fake_http.h"
#include "tests/profile/fake_request.h"
#include "tests/profile/fake_stream.h"

namespace foretoken::fake {

struct FakeEndpointOptions {
  int port = 0;  // 0: a free one
  std::string served_model = "fake-model";
  std::string version = "0.11.0";  // what /version says
  int64_t max_model_len = 32768;
  int64_t eos_tokens = 64;  // outputs end after so many, unless ignore_eos; min_tokens and max_tokens bound it
  double time_scale = 1;    // 2: all steps take twice as long
  SchedulerSettings scheduler;
  FakeFaults faults;
};

// The step model of a model on one device of the shipped catalog, both given by their ids, with these efficiencies.
// Errors: NOT_FOUND for unknown ids, and those of foretoken::MakeStepModel.
absl::StatusOr<StepModel> MakeFakeStepModel(std::string_view model, std::string_view hardware,
                                            const Efficiencies& efficiencies);

// Listens on 127.0.0.1 from Start to the end of its life.
class FakeEndpoint {
 public:
  // Errors: UNAVAILABLE where the port is taken.
  static absl::StatusOr<std::unique_ptr<FakeEndpoint>> Start(StepModel model, FakeEndpointOptions options);
  ~FakeEndpoint();

  int port() const { return server_->port(); }
  std::string url() const;  // "http://127.0.0.1:PORT"
  // What it did, in its own exact time.
  const FakeEngine& engine() const { return engine_; }
  int64_t requests() const { return requests_; }  // for completions, refused ones included

 private:
  FakeEndpoint(StepModel model, FakeEndpointOptions options);

  void Handle(const HttpRequest& request, HttpConnection& connection);
  void Complete(const HttpRequest& request, bool chat, HttpConnection& connection);
  bool Refuse(int64_t number, HttpConnection& connection) const;
  FakeAnswer AnswerTo(const AskedCompletion& asked, bool chat, int64_t number) const;
  int64_t MostOutput(const AskedCompletion& asked, bool chat, int64_t prompt) const;
  int64_t OutputOf(const AskedCompletion& asked, int64_t most, int64_t number) const;
  std::string ModelsText() const;
  std::string MetricsText() const;

  const FakeEndpointOptions options_;
  std::atomic<int64_t> requests_ = 0;
  FakeEngine engine_;
  std::unique_ptr<HttpServer> server_;
};

}  // namespace foretoken::fake

#endif  // FORETOKEN_TESTS_PROFILE_FAKE_ENDPOINT_H_
