#include "server/ops/tls.h"

#include <grpcpp/security/tls_certificate_provider.h>
#include <grpcpp/security/tls_credentials_options.h>
#include <openssl/err.h>
#include <openssl/ssl.h>

#include <fstream>

#include "absl/strings/str_cat.h"

namespace foretoken::ops {
namespace {

constexpr unsigned kReadAgainSeconds = 10;

absl::Status Fault(const char* flag, const std::string& path) {
  const char* reason = std::ifstream(path) ? ERR_reason_error_string(ERR_peek_error()) : nullptr;
  const std::string why = reason != nullptr ? reason : "cannot be read";
  ERR_clear_error();
  return absl::InvalidArgumentError(absl::StrCat(flag, " ", path, ": ", why));
}

int NoPassphrase(char*, int, int, void*) { return 0; }

// gRPC itself only logs what is wrong with the files, and serves nobody.
absl::Status Check(const TlsFiles& files) {
  const std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)> context(SSL_CTX_new(TLS_server_method()), SSL_CTX_free);
  SSL_CTX_set_default_passwd_cb(context.get(), NoPassphrase);
  if (SSL_CTX_use_certificate_chain_file(context.get(), files.certificate.c_str()) != 1) {
    return Fault("tls_cert_file", files.certificate);
  }
  if (SSL_CTX_use_PrivateKey_file(context.get(), files.key.c_str(), SSL_FILETYPE_PEM) != 1) {
    return Fault("tls_key_file", files.key);
  }
  if (files.client_ca.empty() || SSL_CTX_load_verify_locations(context.get(), files.client_ca.c_str(), nullptr) == 1) {
    return absl::OkStatus();
  }
  return Fault("tls_client_ca_file", files.client_ca);
}

}  // namespace

absl::StatusOr<std::shared_ptr<grpc::ServerCredentials>> ServerCredentialsOf(const TlsFiles& files) {
  if (files.certificate.empty() && files.key.empty() && files.client_ca.empty()) {
    return grpc::InsecureServerCredentials();
  }
  if (files.certificate.empty() || files.key.empty()) {
    return absl::InvalidArgumentError(
        "tls_cert_file goes with tls_key_file, and tls_client_ca_file with both; one is absent");
  }
  if (absl::Status status = Check(files); !status.ok()) return status;
  grpc::experimental::TlsServerCredentialsOptions options(
      std::make_shared<grpc::experimental::FileWatcherCertificateProvider>(files.key, files.certificate,
                                                                           files.client_ca, kReadAgainSeconds));
  options.watch_identity_key_cert_pairs();
  options.set_cert_request_type(GRPC_SSL_DONT_REQUEST_CLIENT_CERTIFICATE);
  if (!files.client_ca.empty()) {
    options.watch_root_certs();
    options.set_cert_request_type(GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
  }
  return grpc::experimental::TlsServerCredentials(options);
}

}  // namespace foretoken::ops
