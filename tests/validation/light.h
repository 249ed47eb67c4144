// The one rule by which rows are rejected: faster than the hardware can be.
#ifndef FORETOKEN_TESTS_VALIDATION_LIGHT_H_
#define FORETOKEN_TESTS_VALIDATION_LIGHT_H_

#include "tests/validation/measured.h"

namespace foretoken::validation {

// Whether a time is below 0.95 of the floor that the hardware's stated figures set. The whole batch runs at
// once, as engines differ in what memory they keep free. Of a closed loop, Little's law says how many sequences decoded at once and
// that the device prefills every request of a cycle within it; both are held against the floor.
bool IsFasterThanLight(const Row& row);

}  // namespace foretoken::validation

#endif  // FORETOKEN_TESTS_VALIDATION_LIGHT_H_
