// Where an etcd store is and how to reach it.
#ifndef FORETOKEN_SERVER_CATALOG_STORE_ETCD_ETCD_OPTIONS_H_
#define FORETOKEN_SERVER_CATALOG_STORE_ETCD_ETCD_OPTIONS_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace foretoken::catalog {

struct EtcdOptions {
  std::vector<std::string> endpoints;  // "10.0.0.1:2379"; members of one cluster
  std::string prefix = "/foretoken/";  // of every key; begins and ends with '/'
  // TLS where ca_file is given: a file of PEM certificates that the members' are checked against.
  std::string ca_file;
  std::string cert_file;  // of this client, with key_file; empty: none
  std::string key_file;
  // User and password where user is given. The password is the file's first line.
  std::string user;
  std::string password_file;
};

// "host:port,host:port[/prefix]" into `options`. Errors: kInvalidField about catalog_store.
absl::StatusOr<EtcdOptions> ParseEtcdAddress(std::string_view address, EtcdOptions options);

}  // namespace foretoken::catalog

#endif  // FORETOKEN_SERVER_CATALOG_STORE_ETCD_ETCD_OPTIONS_H_
