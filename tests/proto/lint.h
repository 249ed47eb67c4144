// Rules that the API's descriptors keep.
//
// CheckLint: the STANDARD rules of Buf's linter under Buf's names, except PROTOVALIDATE (the API uses no such
// options). Where Google's API improvement proposals differ (bare resources as responses, names), these win.
// CheckHouse: the project's own. Every element is commented, every RPC tells its errors, every quantity has its unit in
// its name, and a scenario's figures tell absent from zero.
#ifndef FORETOKEN_TESTS_PROTO_LINT_H_
#define FORETOKEN_TESTS_PROTO_LINT_H_

#include "tests/proto/api.h"

namespace foretoken::api {

// Every breach of a rule, in the order of the files.
Faults CheckLint(const Api& api);
Faults CheckHouse(const Api& api);

}  // namespace foretoken::api

#endif  // FORETOKEN_TESTS_PROTO_LINT_H_
