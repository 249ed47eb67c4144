// Pages of the List calls, after AIP-158. A token is opaque to callers and good for one call, filter and entry only. It
// names the last id of its page, so that entries which are added or deleted between two pages shift nothing.
#ifndef FORETOKEN_SERVER_RPC_CATALOG_PAGE_TOKEN_H_
#define FORETOKEN_SERVER_RPC_CATALOG_PAGE_TOKEN_H_

#include <cstddef>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace foretoken::rpc {

// Bytes of entries on a page, so that a client with the default limit of 4 MB reads any page. A page has one entry at
// least, whatever its size.
inline constexpr size_t kMaxPageBytes = 1 << 20;

// How many entries a page has: 100 where `asked` is 0, at most 1,000. Errors: kInvalidField about page_size: negative.
absl::StatusOr<int> ReadPageSize(int asked);

// `collection` names the List call ("hardware").
std::string MakePageToken(std::string_view collection, std::string_view filter, std::string_view last_id);

// The last id of the page before; empty for an empty token. Errors: kInvalidField about page_token.
absl::StatusOr<std::string> ReadPageToken(const std::string& token, std::string_view collection,
                                          std::string_view filter);

}  // namespace foretoken::rpc

#endif  // FORETOKEN_SERVER_RPC_CATALOG_PAGE_TOKEN_H_
