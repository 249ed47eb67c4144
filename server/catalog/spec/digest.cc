#include "server/catalog/spec/digest.h"

#include <openssl/sha.h>

#include <array>

#include "absl/strings/escaping.h"

namespace foretoken::catalog {
namespace {

std::array<unsigned char, SHA256_DIGEST_LENGTH> Sha256(std::string_view contents) {
  std::array<unsigned char, SHA256_DIGEST_LENGTH> digest;
  SHA256(reinterpret_cast<const unsigned char*>(contents.data()), contents.size(), digest.data());
  return digest;
}

}  // namespace

std::string Sha256Hex(std::string_view contents) {
  const auto digest = Sha256(contents);
  return absl::BytesToHexString(absl::string_view(reinterpret_cast<const char*>(digest.data()), digest.size()));
}

uint64_t Sha256Start(std::string_view contents) {
  const auto digest = Sha256(contents);
  uint64_t start = 0;
  for (size_t i = 0; i < sizeof(start); ++i) start = start << 8 | digest[i];
  return start;
}

}  // namespace foretoken::catalog
