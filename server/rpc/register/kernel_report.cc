#include "server/rpc/register/kernel_report.h"

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "estimator/fit/sample_faults.h"

namespace foretoken::rpc {
namespace {

using Bases = google::protobuf::RepeatedField<int>;

void AddKernels(const std::vector<RefusedSample>& kernels, const std::vector<int>& indices,
                google::protobuf::RepeatedPtrField<v1::RejectedSample>& messages) {
  for (const RefusedSample& kernel : kernels) {
    v1::RejectedSample& message = *messages.Add();
    message.set_index(indices[static_cast<size_t>(kernel.index)]);
    message.set_reason(kernel.reason);
  }
}

// Runs that state one of two times.
int CountOf(const std::vector<Sample>& runs, Metric one, Metric other) {
  return static_cast<int>(std::count_if(runs.begin(), runs.end(), [&](const Sample& run) {
    return IsTime(run.measured[one]) || IsTime(run.measured[other]);
  }));
}

// "routed experts in 16bit, fp8_block by 240 kernels of this hardware and engine; ".
std::string KernelsText(const EngineKernelsFit& kernels) {
  std::vector<std::string> formats;
  for (const FormatFit& format : kernels.formats) formats.emplace_back(MatrixFormatName(format.format));
  return absl::StrCat("routed experts in ", absl::StrJoin(formats, ", "), " by ", kernels.used.size(),
                      " kernels of this hardware and engine; ");
}

// Adds what one phase rests on, and gives the words.
std::string TellPhase(const v1::CalibrationSpec& calibration, const EngineKernelsFit* kernels, int runs, Bases& bases) {
  std::string text;
  if (kernels != nullptr) {
    bases.Add(v1::CALIBRATION_BASIS_KERNELS);
    text = absl::StrCat(KernelsText(*kernels), "all else by ");
  }
  if (runs > 0) {
    bases.Add(v1::CALIBRATION_BASIS_RUNS);
    return absl::StrCat(text, runs, " runs of this hardware and engine");
  }
  bases.Add(v1::CALIBRATION_BASIS_PARENT);
  const std::string& parent = calibration.parent();
  return absl::StrCat(text, parent.empty() ? "the generic prior" : absl::StrCat("the parent ", parent));
}

}  // namespace

void ReportKernels(const EngineKernelsFit& fit, const std::vector<int>& indices, const v1::CalibrationSpec& calibration,
                   v1::CalibrationReport& report) {
  AddKernels(fit.rejected, indices, *report.mutable_rejected_kernels());
  AddKernels(fit.suspicious, indices, *report.mutable_suspicious_kernels());
  for (const FormatFit& format : fit.formats) {
    v1::KernelError& message = *report.add_kernel_errors();
    message.set_calibration_id(calibration.id());
    message.set_kernel("routed_experts");
    message.set_format(MatrixFormatName(format.format));
    message.set_num_kernels(format.kernels);
    message.set_parent_median_ape(format.parent_error);
    message.set_in_sample_median_ape(format.error);
    message.set_start_seconds(format.start.value());
  }
}

void ReportEvidence(const v1::CalibrationSpec& calibration, const EngineKernelsFit* kernels,
                    const std::vector<Sample>& runs, int replaced, v1::CalibrationReport& report) {
  v1::CalibrationEvidence& evidence = *report.add_evidence();
  evidence.set_calibration_id(calibration.id());
  const std::string prefill = TellPhase(calibration, kernels, CountOf(runs, kTtft, kE2e), *evidence.mutable_prefill());
  const std::string decode = TellPhase(calibration, kernels, CountOf(runs, kTpot, kE2e), *evidence.mutable_decode());
  std::string text = prefill == decode ? absl::StrCat("prefill and decode: ", prefill)
                                       : absl::StrCat("prefill: ", prefill, ". decode: ", decode);
  if (runs.empty()) absl::StrAppend(&text, "; models without routed experts by the generic prior");
  if (runs.empty() && replaced > 0) {
    absl::StrAppend(&text, ". Takes the place of a calibration of ", replaced,
                    " runs: runs and kernels that are registered together count both");
  }
  evidence.set_description(text);
}

}  // namespace foretoken::rpc
