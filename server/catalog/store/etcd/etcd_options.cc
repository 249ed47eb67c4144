#include "server/catalog/store/etcd/etcd_options.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "estimator/base/errors.h"

namespace foretoken::catalog {
namespace {

bool IsHostAndPort(const std::string& endpoint) {
  const size_t colon = endpoint.rfind(':');
  int port = 0;
  return colon != std::string::npos && colon > 0 && absl::SimpleAtoi(endpoint.substr(colon + 1), &port) && port > 0 &&
         port < 65536;
}

}  // namespace

absl::StatusOr<EtcdOptions> ParseEtcdAddress(std::string_view address, EtcdOptions options) {
  const size_t slash = address.find('/');
  const std::string hosts(address.substr(0, slash));
  for (const absl::string_view endpoint : absl::StrSplit(hosts, ',')) {
    options.endpoints.emplace_back(endpoint);
    if (IsHostAndPort(options.endpoints.back())) continue;
    return Refusal(Reason::kInvalidField, "catalog_store",
                   absl::StrCat("catalog_store names etcd member \"", std::string(endpoint),
                                "\"; allowed: etcd:HOST:PORT[,HOST:PORT...][/PREFIX]"));
  }
  if (slash != std::string_view::npos && slash + 1 < address.size()) {
    options.prefix = std::string(address.substr(slash));
    if (options.prefix.back() != '/') options.prefix += '/';
  }
  if (options.cert_file.empty() == options.key_file.empty() &&
      (!options.ca_file.empty() || options.cert_file.empty()) &&
      options.user.empty() == options.password_file.empty()) {
    return options;
  }
  return Refusal(Reason::kInvalidField, "catalog_store",
                 "etcd credentials: etcd_cert_file goes with etcd_key_file and etcd_ca_file, etcd_user with "
                 "etcd_password_file");
}

}  // namespace foretoken::catalog
