// How much text an entry may carry. Every replica keeps every entry in memory and in its store's history, so texts for
// people are bounded where an entry is bundled or registered. What a store holds already is read whatever its size.
#ifndef FORETOKEN_SERVER_CATALOG_SPEC_TEXT_LIMITS_H_
#define FORETOKEN_SERVER_CATALOG_SPEC_TEXT_LIMITS_H_

#include <cstddef>

#include "absl/status/status.h"
#include "google/protobuf/message.h"

namespace foretoken::catalog {

inline constexpr size_t kMaxTextBytes = 4096;
// Sources of an entry or a calibration, and fields of a source.
inline constexpr int kMaxSources = 100;

// Every text and list of sources of `spec`, at any depth. REQUIRES: its other lists are counted already.
// Errors: kInvalidField with every violation, field paths relative to the spec.
absl::Status CheckTexts(const google::protobuf::Message& spec);

}  // namespace foretoken::catalog

#endif  // FORETOKEN_SERVER_CATALOG_SPEC_TEXT_LIMITS_H_
