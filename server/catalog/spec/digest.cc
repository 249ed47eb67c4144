#include "server/catalog/spec/digest.h"

#include <openssl/sha.h>

#include "absl/strings/escaping.h"

namespace foretoken::catalog {

std::string Sha256Hex(std::string_view contents) {
  unsigned char digest[SHA256_DIGEST_LENGTH];
  SHA256(reinterpret_cast<const unsigned char*>(contents.data()), contents.size(), digest);
  return absl::BytesToHexString(absl::string_view(reinterpret_cast<const char*>(digest), sizeof(digest)));
}

}  // namespace foretoken::catalog
