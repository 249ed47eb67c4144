#include "server/ops/metrics_server.h"

#include <exception>
#include <utility>

#include "absl/strings/str_cat.h"

namespace foretoken::ops {
namespace {

// A peer that says nothing holds a thread until the timeout, so there are more threads than scrapers.
constexpr char kThreads[] = "16";
constexpr char kRequestTimeoutMs[] = "1000";

}  // namespace

absl::StatusOr<std::unique_ptr<MetricsServer>> MetricsServer::Start(
    const std::string& address, std::vector<std::shared_ptr<prometheus::Collectable>> collectables) {
  std::unique_ptr<prometheus::Exposer> exposer;
  try {  // the library reports a taken port by an exception; it ends here
    exposer = std::make_unique<prometheus::Exposer>(std::vector<std::string>{
        "listening_ports", address, "num_threads", kThreads, "request_timeout_ms", kRequestTimeoutMs});
  } catch (const std::exception& error) {
    return absl::UnavailableError(
        absl::StrCat("metrics_listen ", address, ": cannot listen there (", error.what(),
                     "); is the port taken? Another address, or an empty one for no metrics, is allowed"));
  }
  for (const auto& collectable : collectables) exposer->RegisterCollectable(collectable);
  const std::string host = address.substr(0, address.rfind(':'));
  std::string bound = absl::StrCat(host, ":", exposer->GetListeningPorts().front());
  return std::unique_ptr<MetricsServer>(
      new MetricsServer(std::move(exposer), std::move(bound), std::move(collectables)));
}

MetricsServer::MetricsServer(std::unique_ptr<prometheus::Exposer> exposer, std::string address,
                             std::vector<std::shared_ptr<prometheus::Collectable>> collectables)
    : collectables_(std::move(collectables)), exposer_(std::move(exposer)), address_(std::move(address)) {}

void MetricsServer::Add(std::shared_ptr<prometheus::Collectable> collectable) {
  exposer_->RegisterCollectable(collectable);
  collectables_.push_back(std::move(collectable));
}

}  // namespace foretoken::ops
