// A real etcd of one member on free loopback ports with a folder of its own, ended by its process id.
#ifndef FORETOKEN_TESTS_CATALOG_ETCD_SERVER_H_
#define FORETOKEN_TESTS_CATALOG_ETCD_SERVER_H_

#include <sys/types.h>

#include <string>

#include "tests/catalog/temporary_folder.h"

namespace foretoken::catalog {

class EtcdServer {
 public:
  // Starts and waits until it answers. Fails the program where etcd does not start: it is a package of the tests.
  EtcdServer();
  ~EtcdServer();
  EtcdServer(const EtcdServer&) = delete;
  EtcdServer& operator=(const EtcdServer&) = delete;

  // "127.0.0.1:40123".
  const std::string& address() const { return address_; }

  // Puts the value past the store, as a hand on etcdctl would.
  void Put(const std::string& key, const std::string& value) const;
  // Forgets every revision before the last one.
  void Compact() const;

 private:
  TemporaryFolder folder_;
  std::string address_;
  pid_t pid_ = -1;
};

}  // namespace foretoken::catalog

#endif  // FORETOKEN_TESTS_CATALOG_ETCD_SERVER_H_
