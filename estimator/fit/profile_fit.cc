#include "estimator/fit/profile_fit.h"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "estimator/base/errors.h"
#include "estimator/fit/sample_faults.h"
#include "estimator/methods/linear_profile.h"

namespace foretoken {
namespace {

bool Good(const std::optional<Seconds>& time) { return !time || (std::isfinite(time->value()) && time->value() > 0); }

// The mean decode step: as stated, or from E2E - TTFT.
std::optional<Seconds> StepOf(const ProfileSample& s) {
  if (s.tpot) return s.tpot;
  if (!s.ttft || !s.e2e || s.output_tokens < 2) return std::nullopt;
  return (*s.e2e - *s.ttft) / (s.output_tokens - 1);
}

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

double Or(const std::optional<Seconds>& time) { return time ? time->value() : kUnknown; }

// The sample as a measurement of the core model: its prefill and its mean decode step.
Sample RunOf(const Scenario& scenario, const ProfileSample& s) {
  Sample run{.scenario = scenario, .measured = {Or(s.ttft), Or(StepOf(s)), kUnknown}};
  run.scenario.workload = {.batch_size = static_cast<int>(s.batch_size),
                           .prompt_tokens = static_cast<int>(s.prompt_tokens),
                           .output_tokens = static_cast<int>(s.output_tokens),
                           .capacity_policy = CapacityPolicy::kWaves,
                           .expert_routing = ExpertRouting::kIdenticalPrompts};
  run.scenario.live_load.reset();
  return run;
}

// Why a sample cannot be used; empty: it can.
std::string Fault(const Scenario& scenario, const ProfileSample& s) {
  if (!Good(s.ttft) || !Good(s.tpot) || !Good(s.e2e)) return "a time is not finite and positive";
  const std::optional<Seconds> step = StepOf(s);
  if (!s.ttft && !step) return "states neither ttft_seconds nor tpot_seconds, nor e2e_seconds beside ttft_seconds";
  if (s.ttft && s.e2e && s.output_tokens > 1 && !(*s.e2e > *s.ttft)) return "e2e_seconds is not above ttft_seconds";
  const std::optional<SampleFault> fault = FasterThanLight(RunOf(scenario, s));
  return fault ? fault->reason : "";
}

// Bytes that one decode step of the sample reads by the linear profile, on all devices of a replica: the weights, and
// the KV cache at the mean context of its steps, S to S + O - 1.
Bytes DecodeBytes(const Scenario& scenario, const ProfileSample& s) {
  const LinearDecode decode = LinearDecodeOf(scenario, scenario.deployment.PerReplica(s.batch_size), BytesPerSecond(1));
  const double context = s.prompt_tokens + (s.output_tokens - 1) / 2;
  return decode.weights + decode.batch * context * decode.kv_per_token;
}

// Points of one regression and the samples that they come from.
struct Points {
  std::vector<double> x, y;
  std::vector<int> samples;

  void Add(double seconds, double amount, size_t index) {
    x.push_back(seconds);
    y.push_back(amount);
    samples.push_back(static_cast<int>(index));
  }
};

std::optional<LinearFit> Fit(const Points& points) {
  std::optional<LinearFit> fit = FitLine(points.x, points.y);
  if (fit) fit->samples = points.samples;
  return fit;
}

double Sum(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum;
}

absl::Status FitPrefill(const Points& points, ProfileFit& fit) {
  if (points.x.empty()) return absl::OkStatus();
  const auto [low, high] = std::minmax_element(points.y.begin(), points.y.end());
  fit.prefill = Fit(points);
  if (!fit.prefill || *low == *high) {
    return Refusal(
        Reason::kInsufficientSamples, "samples",
        absl::StrCat(points.x.size(), " usable prefill sample(s) with one ",
                     *low == *high ? "number of tokens" : "latency", "; at least 2 different ones are needed"));
  }
  if (!(fit.prefill->slope > 0)) {
    return Refusal(Reason::kInvalidField, "samples",
                   absl::StrCat("prefill latency falls as tokens grow: the fitted rate is ", fit.prefill->slope,
                                " tokens/s; allowed above 0"));
  }
  fit.min_prefill_tokens = *low;
  fit.max_prefill_tokens = *high;
  return absl::OkStatus();
}

}  // namespace

std::optional<LinearFit> FitLine(const std::vector<double>& x, const std::vector<double>& y) {
  const auto n = static_cast<Eigen::Index>(x.size());
  if (n < 2 || std::all_of(x.begin(), x.end(), [&](double v) { return v == x[0]; })) return std::nullopt;
  const Eigen::Map<const Eigen::VectorXd> xs(x.data(), n);
  const Eigen::Map<const Eigen::VectorXd> ys(y.data(), n);
  // Centred, so that the two unknowns do not depend on each other.
  const Eigen::VectorXd dx = xs.array() - xs.mean();
  const Eigen::VectorXd dy = ys.array() - ys.mean();
  LinearFit fit;
  fit.slope = dx.dot(dy) / dx.squaredNorm();
  fit.intercept = ys.mean() - fit.slope * xs.mean();
  const Eigen::VectorXd left = dy - fit.slope * dx;
  const double total = dy.squaredNorm();
  fit.r2 = total > 0 ? 1 - left.squaredNorm() / total : 1;
  fit.residuals.assign(left.data(), left.data() + n);
  return fit;
}

absl::StatusOr<ProfileFit> FitProfile(const Scenario& scenario, const std::vector<ProfileSample>& samples) {
  ProfileFit fit;
  Points prefill;
  Points decode;
  for (size_t i = 0; i < samples.size(); ++i) {
    const ProfileSample& s = samples[i];
    if (std::string fault = Fault(scenario, s); !fault.empty()) {
      fit.rejected.push_back({static_cast<int>(i), std::move(fault)});
      continue;
    }
    if (s.ttft && s.prompt_tokens > 0) {
      prefill.Add(s.ttft->value(), scenario.deployment.PerReplica(s.batch_size) * s.prompt_tokens, i);
    }
    if (const auto step = StepOf(s)) decode.Add(step->value(), DecodeBytes(scenario, s).value(), i);
  }
  if (prefill.x.empty() && decode.x.empty()) {
    return Refusal(Reason::kInsufficientSamples, "samples",
                   absl::StrCat("none of ", samples.size(), " samples is usable; the first: ",
                                fit.rejected.empty() ? "none was given" : fit.rejected[0].reason));
  }
  if (absl::Status status = FitPrefill(prefill, fit); !status.ok()) return status;
  fit.decode = Fit(decode);
  fit.decode_samples = static_cast<int>(decode.x.size());
  if (!decode.x.empty()) fit.effective_bandwidth = BytesPerSecond(Sum(decode.y) / Sum(decode.x));
  return fit;
}

LinearProfile ProfileOf(const Scenario& scenario, const ProfileFit& fit) {
  LinearProfile profile{.key = ProfileKeyOf(scenario), .effective_bandwidth = fit.effective_bandwidth};
  if (fit.prefill) {
    profile.prefill_tokens_per_second = fit.prefill->slope;
    profile.min_prefill_tokens = fit.min_prefill_tokens;
    profile.max_prefill_tokens = fit.max_prefill_tokens;
  }
  return profile;
}

}  // namespace foretoken
