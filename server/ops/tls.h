// TLS of the gRPC services.
#ifndef FORETOKEN_SERVER_OPS_TLS_H_
#define FORETOKEN_SERVER_OPS_TLS_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "grpcpp/security/server_credentials.h"

namespace foretoken::ops {

// PEM files.
struct TlsFiles {
  std::string certificate;  // the server's, with its chain; empty: no TLS
  std::string key;          // of the certificate, without a passphrase
  std::string client_ca;    // callers must show a certificate of one of these authorities; empty: they show none
};

// Plain text where no file is named. Files are read again when they change, within ten seconds, for new connections;
// while they cannot be used, as a certificate beside another's key, none succeeds. To replace a pair at once, replace
// its folder.
//
// Errors: INVALID_ARGUMENT: files that only make sense with another, cannot be read or do not belong together.
absl::StatusOr<std::shared_ptr<grpc::ServerCredentials>> ServerCredentialsOf(const TlsFiles& files);

}  // namespace foretoken::ops

#endif  // FORETOKEN_SERVER_OPS_TLS_H_
