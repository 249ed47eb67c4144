// What would break a client that was built against an older descriptor set. foretoken.v1 only adds: nothing of the
// baseline may be removed, renamed, renumbered, retyped or change its cardinality, and what it reserved stays reserved.
#ifndef FORETOKEN_TESTS_PROTO_BREAKING_H_
#define FORETOKEN_TESTS_PROTO_BREAKING_H_

#include "tests/proto/api.h"

namespace foretoken::api {

// Every element of `baseline` that `current` lacks or has changed, under the names of Buf's breaking-change rules.
Faults CheckBreaking(const Api& baseline, const Api& current);

}  // namespace foretoken::api

#endif  // FORETOKEN_TESTS_PROTO_BREAKING_H_
