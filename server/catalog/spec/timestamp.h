// Times as the API has them, google.protobuf.Timestamp.
#ifndef FORETOKEN_SERVER_CATALOG_SPEC_TIMESTAMP_H_
#define FORETOKEN_SERVER_CATALOG_SPEC_TIMESTAMP_H_

#include <cstdint>

#include "absl/time/time.h"
#include "google/protobuf/timestamp.pb.h"

namespace foretoken::catalog {

// To the microsecond, as stores keep times. REQUIRES: not before 1970.
inline void SetTimestamp(absl::Time time, google::protobuf::Timestamp& message) {
  const int64_t micros = absl::ToUnixMicros(time);
  message.set_seconds(micros / 1'000'000);
  message.set_nanos(static_cast<int32_t>(micros % 1'000'000 * 1000));
}

inline absl::Time TimeOf(const google::protobuf::Timestamp& message) {
  return absl::FromUnixSeconds(message.seconds()) + absl::Nanoseconds(message.nanos());
}

}  // namespace foretoken::catalog

#endif  // FORETOKEN_SERVER_CATALOG_SPEC_TIMESTAMP_H_
