// When the certificates that the server was given expire.
#ifndef FORETOKEN_SERVER_OPS_PROCESS_CERTIFICATE_METRICS_H_
#define FORETOKEN_SERVER_OPS_PROCESS_CERTIFICATE_METRICS_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "prometheus/collectable.h"
#include "prometheus/metric_family.h"

namespace foretoken::ops {

// A PEM file of certificates, and what it is for: a label of the metrics ("server", "client_ca", "etcd_client").
struct CertificateFile {
  std::string use;
  std::string path;
};

// When the first certificate of the file to expire does. Nothing: the file cannot be read, or holds no certificate.
std::optional<absl::Time> FirstExpiry(const std::string& path);

// foretoken_certificate_expiry_timestamp_seconds, read from the files at each scrape, as gRPC reads them again too, and
// foretoken_certificate_readable: 0 where a file cannot be read. Thread-safe.
class CertificateMetrics : public prometheus::Collectable {
 public:
  // Those without a path are left out.
  explicit CertificateMetrics(std::vector<CertificateFile> files);

  std::vector<prometheus::MetricFamily> Collect() const override;

 private:
  std::vector<CertificateFile> files_;
};

}  // namespace foretoken::ops

#endif  // FORETOKEN_SERVER_OPS_PROCESS_CERTIFICATE_METRICS_H_
