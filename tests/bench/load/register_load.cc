#include "tests/bench/load/register_load.h"

#include <chrono>
#include <cstdio>
#include <thread>

#include "client/client.h"

namespace foretoken::bench {
namespace {

constexpr int kIds = 20;
constexpr const char* kModel = "llama-3.1-8b";

}  // namespace

RegisterResult RunRegistrations(const std::string& address, double writes_per_second, double seconds) {
  using Clock = std::chrono::steady_clock;
  const client::Client client(client::Dial(address));
  v1::GetModelRequest get;
  get.set_model_id(kModel);
  const auto model = client.GetModel(get);
  RegisterResult result;
  const Clock::time_point start = Clock::now();
  const auto since = [start] { return std::chrono::duration<double>(Clock::now() - start).count(); };
  for (int i = 0; since() < seconds; ++i) {
    const auto due = std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(i / writes_per_second));
    std::this_thread::sleep_until(start + due);
    v1::RegisterModelRequest request;
    if (model.ok()) *request.mutable_spec() = model->entry().spec();
    request.mutable_spec()->clear_aliases();  // they stay those of the bundled model
    request.mutable_spec()->set_id("bench-" + std::to_string(i % kIds));
    request.set_etag("*");
    const auto response = client.RegisterModel(request);
    response.ok() ? ++result.written : ++result.errors;
    if (!response.ok() && result.errors == 1) {
      std::fprintf(stderr, "foretoken-load: %s\n", response.status().ToString().c_str());
    }
  }
  result.seconds = since();
  return result;
}

}  // namespace foretoken::bench
