// What the fake services answer alike.
#ifndef FORETOKEN_TESTS_CLIENT_FAKE_REPLIES_H_
#define FORETOKEN_TESTS_CLIENT_FAKE_REPLIES_H_

#include <grpcpp/support/status.h>

#include <atomic>

#include "foretoken/v1/estimate.pb.h"

namespace foretoken::client {

inline void SetRevision(v1::CatalogRevision* revision) {
  revision->set_bundle_digest("0123456789abcdef");
  revision->set_store_revision(7);
}

inline bool UseFailure(std::atomic<int>& failures) { return failures > 0 && failures-- > 0; }

inline grpc::Status Unavailable() { return {grpc::StatusCode::UNAVAILABLE, "try again"}; }

}  // namespace foretoken::client

#endif  // FORETOKEN_TESTS_CLIENT_FAKE_REPLIES_H_
