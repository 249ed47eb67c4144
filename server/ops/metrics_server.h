// Serves metrics as Prometheus text over plain HTTP, on an address of its own: http://ADDRESS/metrics.
#ifndef FORETOKEN_SERVER_OPS_METRICS_SERVER_H_
#define FORETOKEN_SERVER_OPS_METRICS_SERVER_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "prometheus/collectable.h"
#include "prometheus/exposer.h"

namespace foretoken::ops {

class MetricsServer {
 public:
  // Listens on `address` ("127.0.0.1:9464"; port 0 picks a free one).
  //
  // Errors: UNAVAILABLE: the address cannot be listened on.
  static absl::StatusOr<std::unique_ptr<MetricsServer>> Start(
      const std::string& address, std::vector<std::shared_ptr<prometheus::Collectable>> collectables);

  // Serves these numbers too, from now on.
  void Add(std::shared_ptr<prometheus::Collectable> collectable);

  // "127.0.0.1:9464", with the port that was picked.
  const std::string& address() const { return address_; }

 private:
  MetricsServer(std::unique_ptr<prometheus::Exposer> exposer, std::string address,
                std::vector<std::shared_ptr<prometheus::Collectable>> collectables);

  std::vector<std::shared_ptr<prometheus::Collectable>> collectables_;
  std::unique_ptr<prometheus::Exposer> exposer_;  // ends first: it reads the collectables
  std::string address_;
};

}  // namespace foretoken::ops

#endif  // FORETOKEN_SERVER_OPS_METRICS_SERVER_H_
