// Fingerprints of contents.
#ifndef FORETOKEN_SERVER_CATALOG_SPEC_DIGEST_H_
#define FORETOKEN_SERVER_CATALOG_SPEC_DIGEST_H_

#include <cstdint>
#include <string>
#include <string_view>

namespace foretoken::catalog {

// SHA-256, 64 hexadecimal digits.
std::string Sha256Hex(std::string_view contents);

// The first eight bytes of SHA-256: of two contents that differ, one in 2^64 has the same.
uint64_t Sha256Start(std::string_view contents);

}  // namespace foretoken::catalog

#endif  // FORETOKEN_SERVER_CATALOG_SPEC_DIGEST_H_
