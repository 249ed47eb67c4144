// Flags of every write: the etag and the request id.
#ifndef FORETOKEN_CLIENT_CLI_SCENARIO_WRITE_FLAGS_H_
#define FORETOKEN_CLIENT_CLI_SCENARIO_WRITE_FLAGS_H_

#include <string>

namespace CLI {
class App;
}

namespace foretoken::cli {

struct WriteFlags {
  std::string etag;        // empty: none
  std::string request_id;  // empty: a random id, so that the write can be retried

  void AddTo(CLI::App& command);

  // Sets etag and request_id of a request of CatalogService.
  template <typename Request>
  void Fill(Request& request) const {
    if (!etag.empty()) request.set_etag(etag);
    request.set_request_id(request_id.empty() ? RandomRequestId() : request_id);
  }

  // 32 random hexadecimal digits.
  static std::string RandomRequestId();
};

}  // namespace foretoken::cli

#endif  // FORETOKEN_CLIENT_CLI_SCENARIO_WRITE_FLAGS_H_
