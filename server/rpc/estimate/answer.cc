#include "server/rpc/estimate/answer.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "estimator/scenario/calibration.h"
#include "server/catalog/spec/timestamp.h"
#include "server/rpc/wire/convert.h"

namespace foretoken::rpc {
namespace {

void SetDuration(absl::Duration duration, google::protobuf::Duration& message) {
  const int64_t seconds = absl::IDivDuration(duration, absl::Seconds(1), &duration);
  message.set_seconds(seconds);
  message.set_nanos(static_cast<int32_t>(absl::ToInt64Nanoseconds(duration)));
}

// The time since the fit that answered: a calibration states when it was fitted, a profile is as old as its entry.
// Nothing for shipped calibrations and for inline specs, which have no such time.
std::optional<absl::Duration> CalibrationAge(const Estimate& estimate, const Scenario& scenario, const Moment& moment) {
  const Calibration* calibration = scenario.calibration;
  if (calibration != nullptr && calibration->id == estimate.calibration_id) {
    if (!calibration->fit_time_unix_seconds) return std::nullopt;
    return std::max(moment.now - absl::FromUnixSeconds(*calibration->fit_time_unix_seconds), absl::ZeroDuration());
  }
  const auto record = moment.snapshot.FindHardware(scenario.hardware->id, "");
  if (!record.ok() || &(*record)->hardware != scenario.hardware || !(*record)->entry.has_update_time()) {
    return std::nullopt;
  }
  return std::max(moment.now - catalog::TimeOf((*record)->entry.update_time()), absl::ZeroDuration());
}

}  // namespace

std::optional<Warning> StaleCatalogWarning(const Moment& moment) {
  const v1::CatalogRevision& revision = moment.snapshot.revision();
  if (!revision.has_stale_since()) return std::nullopt;
  const absl::Duration age = moment.now - catalog::TimeOf(revision.stale_since());
  return Warning{
      .code = WarningCode::kStaleCatalog,
      .message = absl::StrCat("the catalog store has not answered for ",
                              absl::FormatDuration(absl::Trunc(age, absl::Seconds(1))), "; its last state is used"),
      .field = ""};
}

void WriteAnswer(const Estimate& estimate, const ScenarioReader& reader, const Scenario& scenario, const Moment& moment,
                 v1::Estimate& message) {
  WriteEstimate(estimate, message);
  if (!estimate.calibration_id.empty()) {
    if (const auto age = CalibrationAge(estimate, scenario, moment)) {
      SetDuration(*age, *message.mutable_calibration_age());
    }
  }
  if (const auto age = reader.parts().live_load_age) {
    SetDuration(std::max(absl::ZeroDuration(), *age), *message.mutable_live_load_age());
  }
  if (const auto warning = reader.StaleLoadWarning()) AddWarning(*warning, message);
  if (const auto warning = StaleCatalogWarning(moment)) AddWarning(*warning, message);
}

absl::Status Answer(ScenarioEstimator& estimator, const Moment& moment, const Detail& detail, Estimate& estimate,
                    v1::Estimate& message) {
  if (absl::Status status = estimator.Estimate(detail, estimate); !status.ok()) return status;
  WriteAnswer(estimate, estimator.reader(), estimator.resolved(), moment, message);
  return absl::OkStatus();
}

}  // namespace foretoken::rpc
