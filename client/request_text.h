// Texts of a request that the wire cannot carry.
#ifndef FORETOKEN_CLIENT_REQUEST_TEXT_H_
#define FORETOKEN_CLIENT_REQUEST_TEXT_H_

#include <string_view>

#include "absl/status/status.h"
#include "google/protobuf/message.h"

namespace foretoken::client {

// Whether `text` is UTF-8, as every text of a request has to be.
bool IsUtf8(std::string_view text);

// What a call ended with, in plain words: gRPC answers a request with a text that is not UTF-8 by a bare UNIMPLEMENTED.
// That becomes INVALID_ARGUMENT with the field and the start of its text, control characters and such bytes as
// "\xff". Any other status is given back as it is.
absl::Status NameUnsendable(const absl::Status& status, const google::protobuf::Message& request);

}  // namespace foretoken::client

#endif  // FORETOKEN_CLIENT_REQUEST_TEXT_H_
