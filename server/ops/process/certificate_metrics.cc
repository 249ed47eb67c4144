#include "server/ops/process/certificate_metrics.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include <ctime>
#include <memory>
#include <utility>

namespace foretoken::ops {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;

std::optional<absl::Time> ExpiryOf(const X509* certificate) {
  std::tm parts = {};
  if (ASN1_TIME_to_tm(X509_get0_notAfter(certificate), &parts) != 1) return std::nullopt;
  return absl::FromTM(parts, absl::UTCTimeZone());
}

ClientMetric Gauge(const std::string& use, double value) {
  ClientMetric metric;
  metric.label = {{"use", use}};
  metric.gauge.value = value;
  return metric;
}

}  // namespace

std::optional<absl::Time> FirstExpiry(const std::string& path) {
  const std::unique_ptr<BIO, decltype(&BIO_free)> file(BIO_new_file(path.c_str(), "r"), BIO_free);
  std::optional<absl::Time> first;
  while (file != nullptr) {
    const std::unique_ptr<X509, decltype(&X509_free)> one(PEM_read_bio_X509(file.get(), nullptr, nullptr, nullptr),
                                                          X509_free);
    if (one == nullptr) break;
    const std::optional<absl::Time> expiry = ExpiryOf(one.get());
    if (expiry && (!first || *expiry < *first)) first = expiry;
  }
  ERR_clear_error();  // the end of a file is an error to OpenSSL
  return first;
}

CertificateMetrics::CertificateMetrics(std::vector<CertificateFile> files) : files_(std::move(files)) {
  std::erase_if(files_, [](const CertificateFile& file) { return file.path.empty(); });
}

std::vector<MetricFamily> CertificateMetrics::Collect() const {
  MetricFamily expiry{"foretoken_certificate_expiry_timestamp_seconds",
                      "When the first certificate of a file expires, since the epoch.",
                      MetricType::Gauge,
                      {}};
  MetricFamily readable{
      "foretoken_certificate_readable", "1: the file of certificates can be read.", MetricType::Gauge, {}};
  for (const CertificateFile& file : files_) {
    const std::optional<absl::Time> first = FirstExpiry(file.path);
    readable.metric.push_back(Gauge(file.use, first ? 1 : 0));
    if (first) expiry.metric.push_back(Gauge(file.use, absl::ToDoubleSeconds(*first - absl::UnixEpoch())));
  }
  if (files_.empty()) return {};
  return {std::move(expiry), std::move(readable)};
}

}  // namespace foretoken::ops
