// Checksums of what a store keeps, so that a flipped bit is noticed and not served.
//
// A checksum is the start of a SHA-256 (spec/digest.h) over everything that makes the entry: its kind and id too, so
// that a value under another entry's name does not pass. An entry that an older program wrote has none. It is served
// unchecked until it is written again.
#ifndef FORETOKEN_SERVER_CATALOG_STORE_CHECKSUM_H_
#define FORETOKEN_SERVER_CATALOG_STORE_CHECKSUM_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "server/catalog/store/store.h"

namespace foretoken::catalog {

// What a store keeps of one write, as far as its entry goes; `value` is absent where the write deleted.
struct EntryContents {
  EntryKind kind = EntryKind::kHardware;
  std::string_view id;
  int64_t revision = 0;
  int64_t update_time_us = 0;
  std::optional<std::string_view> value;
};
uint64_t ChecksumOf(const EntryContents& contents);

// What a store keeps of one write beside its entry.
struct WriteContents {
  int64_t sequence = 0;
  std::string_view author;
  std::string_view peer;
  int64_t action = 0;
};
uint64_t ChecksumOf(const WriteContents& contents);

// The fault of an entry whose checksum is not that of its contents.
inline constexpr char kChecksumDiffers[] = "its checksum is not that of its contents: the store is damaged";

// A record with its checksum as its last field: `record` is a serialised message whose fields are below 15, `name` what
// it is kept under. A reader that knows no checksums parses it as before.
std::string Sealed(std::string record, std::string_view name);

// What became of a seal. Every record that was changed is kBroken, except that one without a seal is kNone.
enum class Seal { kGood, kNone, kBroken };
Seal CheckSeal(std::string_view sealed, std::string_view name);

}  // namespace foretoken::catalog

#endif  // FORETOKEN_SERVER_CATALOG_STORE_CHECKSUM_H_
