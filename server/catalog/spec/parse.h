// From the API's specs to the core model's structs: the one place where a spec is checked, for bundled files,
// registrations and inline specs alike. Past it every figure is finite, in range and resolved.
//
// Absent optional fields take the defaults that the proto documents. An id may be empty here, for inline specs; the
// catalog and the bundle require it. A stated parameter_count must follow from the architecture, unless the model is
// one that the core model does not support.
#ifndef FORETOKEN_SERVER_CATALOG_SPEC_PARSE_H_
#define FORETOKEN_SERVER_CATALOG_SPEC_PARSE_H_

#include "absl/status/statusor.h"
#include "estimator/scenario/calibration.h"
#include "estimator/scenario/hardware.h"
#include "estimator/scenario/model.h"
#include "foretoken/v1/calibration.pb.h"
#include "foretoken/v1/hardware.pb.h"
#include "foretoken/v1/model.pb.h"

namespace foretoken::catalog {

// Unspecified dtypes of linear profiles stay so: only a model can resolve them (profile_dtypes.h).
//
// Errors: kInvalidField (INVALID_ARGUMENT) with every violation, field paths relative to the spec.
absl::StatusOr<Hardware> ParseHardware(const v1::HardwareSpec& spec);
absl::StatusOr<Model> ParseModel(const v1::ModelSpec& spec);
// Reads the linear profiles and calibrations of `spec` into `hardware`, in place of those it has: the part of
// ParseHardware that a spec whose lists grew needs again. Errors: kInvalidField with every violation of the lists.
absl::Status ParseLists(const v1::HardwareSpec& spec, Hardware& hardware);
// Whether the lists of a spec are as short as they have to be. ParseHardware asks too; by itself it costs nothing, so
// that a spec with a million items is refused before it is copied. Errors: kInvalidField.
absl::Status CheckCounts(const v1::HardwareSpec& spec);
// A calibration of another version of the core model is a fault.
absl::StatusOr<Calibration> ParseCalibration(const v1::CalibrationSpec& spec);

}  // namespace foretoken::catalog

#endif  // FORETOKEN_SERVER_CATALOG_SPEC_PARSE_H_
