#include "server/catalog/store/checksum.h"

#include "absl/strings/str_cat.h"
#include "server/catalog/spec/digest.h"

namespace foretoken::catalog {
namespace {

// Of field 15 with eight bytes, which is one byte; the checksum follows, the lowest byte first.
constexpr char kSealTag = (15 << 3) | 1;
constexpr size_t kSealBytes = 1 + sizeof(uint64_t);

// A text with its length before it, so that no two lists of texts look alike.
void Append(std::string& out, std::string_view text) {
  absl::StrAppend(&out, text.size(), ":");
  out.append(text);
}

std::string SealOf(std::string_view record, std::string_view name) {
  std::string contents;
  Append(contents, name);
  Append(contents, record);
  const uint64_t checksum = Sha256Start(contents);
  std::string seal(1, kSealTag);
  for (size_t i = 0; i < sizeof(checksum); ++i) seal += static_cast<char>(checksum >> (8 * i) & 0xff);
  return seal;
}

}  // namespace

uint64_t ChecksumOf(const EntryContents& contents) {
  std::string text = absl::StrCat(static_cast<int>(contents.kind), ",", contents.revision, ",", contents.update_time_us,
                                  contents.value ? ",put," : ",deleted,");
  Append(text, contents.id);
  if (contents.value) Append(text, *contents.value);
  return Sha256Start(text);
}

uint64_t ChecksumOf(const WriteContents& contents) {
  std::string text = absl::StrCat(contents.sequence, ",", contents.action, ",");
  Append(text, contents.author);
  Append(text, contents.peer);
  return Sha256Start(text);
}

std::string Sealed(std::string record, std::string_view name) {
  const std::string seal = SealOf(record, name);
  return std::move(record) + seal;
}

Seal CheckSeal(std::string_view sealed, std::string_view name) {
  if (sealed.size() < kSealBytes) return Seal::kNone;
  const std::string_view record = sealed.substr(0, sealed.size() - kSealBytes);
  const std::string_view seal = sealed.substr(record.size());
  if (seal.front() != kSealTag) return Seal::kNone;
  return seal == SealOf(record, name) ? Seal::kGood : Seal::kBroken;
}

}  // namespace foretoken::catalog
