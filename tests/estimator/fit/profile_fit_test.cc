#include "estimator/fit/profile_fit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "estimator/base/errors.h"
#include "estimator/methods/linear_profile.h"
#include "tests/estimator/fixtures.h"

namespace foretoken {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// y = 2x + 1 through (0, 1), (1, 3), (2, 6): slope 2.5, intercept 5/6, residuals 1/6, -1/3, 1/6; of a total sum of
// squares of 12.667 they leave 1/6.
TEST(FitLineTest, ByHand) {
  const LinearFit fit = *FitLine({0, 1, 2}, {1, 3, 6});
  EXPECT_NEAR(fit.slope, 2.5, 1e-12);
  EXPECT_NEAR(fit.intercept, 5.0 / 6, 1e-12);
  EXPECT_NEAR(fit.r2, 1 - (1.0 / 6) / (38.0 / 3), 1e-12);
  ASSERT_THAT(fit.residuals, SizeIs(3));
  EXPECT_NEAR(fit.residuals[0], 1.0 / 6, 1e-12);
  EXPECT_NEAR(fit.residuals[1], -1.0 / 3, 1e-12);
}

TEST(FitLineTest, NeedsTwoDifferentX) {
  EXPECT_FALSE(FitLine({}, {}).has_value());
  EXPECT_FALSE(FitLine({1}, {2}).has_value());
  EXPECT_FALSE(FitLine({1, 1, 1}, {2, 3, 4}).has_value());
}

// Far from the origin the centred sums lose nothing: bytes against milliseconds.
TEST(FitLineTest, KeepsItsDigitsFarFromTheOrigin) {
  const LinearFit fit = *FitLine({0.010, 0.0100001, 0.0100002}, {1.4e10, 1.4e10 + 1e5, 1.4e10 + 2e5});
  EXPECT_NEAR(fit.slope / 1e12, 1, 1e-6);
  EXPECT_NEAR(fit.r2, 1, 1e-6);
}

// Llama-2-7B on an A100, measured runs made by a profile that is known.
class FitProfileTest : public ::testing::Test {
 protected:
  static constexpr double kRate = 12000;
  static constexpr double kBandwidth = 1.4e12;
  static constexpr double kWeights = 6738415616.0 * 2;
  static constexpr double kKv = 524288;

  FitProfileTest() { scenario_.deployment.engine = "vllm@0.6.0"; }

  static Seconds Step(double batch, double context) { return Seconds((kWeights + batch * context * kKv) / kBandwidth); }

  // A run as that profile has it, 32 ms of fixed prefill time included.
  static ProfileSample Run(double batch, double prompt, double output) {
    const Seconds ttft(0.032 + batch * prompt / kRate);
    const Seconds tpot = Step(batch, prompt + (output - 1) / 2);
    return {.batch_size = batch,
            .prompt_tokens = prompt,
            .output_tokens = output,
            .ttft = ttft,
            .tpot = tpot,
            .e2e = ttft + (output - 1) * tpot};
  }

  absl::StatusOr<ProfileFit> Fit(const std::vector<ProfileSample>& samples) const {
    return FitProfile(scenario_, samples);
  }

  // Of the only sample among good ones that is not used.
  std::string ReasonToReject(const ProfileSample& sample) const {
    const absl::StatusOr<ProfileFit> fit = Fit({Run(1, 512, 64), sample, Run(4, 512, 64)});
    if (!fit.ok() || fit->rejected.size() != 1 || fit->rejected[0].index != 1) return "";
    return fit->rejected[0].reason;
  }

  const Model model_ = Llama2_7b();
  const Hardware hardware_ = A100();
  Scenario scenario_ = MakeScenario(model_, hardware_, 1, 1, 1);
};

// Tokens on latency: slope 12,000 token/s; 32 ms before the first token are an intercept of -384 tokens.
TEST_F(FitProfileTest, FindsTheProfileThatMadeTheSamples) {
  const absl::StatusOr<ProfileFit> fit = Fit({Run(1, 512, 64), Run(4, 512, 64), Run(16, 1024, 256)});
  ASSERT_TRUE(fit.ok()) << fit.status();
  EXPECT_NEAR(fit->prefill->slope, kRate, 1e-6);
  EXPECT_NEAR(fit->prefill->intercept, -384, 1e-6);
  EXPECT_NEAR(fit->prefill->r2, 1, 1e-12);
  EXPECT_THAT(fit->prefill->samples, ElementsAre(0, 1, 2));
  EXPECT_EQ(fit->min_prefill_tokens, 512);
  EXPECT_EQ(fit->max_prefill_tokens, 16384);
  EXPECT_NEAR(fit->effective_bandwidth->value() / kBandwidth, 1, 1e-12);
  EXPECT_NEAR(fit->decode->slope / kBandwidth, 1, 1e-9);
  EXPECT_NEAR(fit->decode->intercept / kWeights, 0, 1e-9);
  EXPECT_EQ(fit->decode_samples, 3);
  EXPECT_THAT(fit->rejected, IsEmpty());
}

// What was fitted answers as the samples did, prefill less the dropped intercept.
TEST_F(FitProfileTest, ItsProfileReproducesTheSamples) {
  const LinearProfile profile = ProfileOf(scenario_, *Fit({Run(1, 512, 64), Run(4, 512, 64), Run(16, 1024, 256)}));
  Scenario scenario = scenario_;
  scenario.workload = {.batch_size = 4, .prompt_tokens = 512, .output_tokens = 64};
  const absl::StatusOr<Estimate> estimate = EstimateLinearProfile(scenario, profile, {});
  ASSERT_TRUE(estimate.ok()) << estimate.status();
  EXPECT_NEAR(estimate->tpot.time / *Run(4, 512, 64).tpot, 1, 1e-9);
  EXPECT_NEAR((*Run(4, 512, 64).ttft - estimate->ttft.time).value(), 0.032, 1e-9);
  EXPECT_EQ(profile.key.engine, "vllm@0.6.0");
}

TEST_F(FitProfileTest, TakesTheStepFromE2eWhereTpotIsAbsent) {
  ProfileSample a = Run(1, 512, 64);
  ProfileSample b = Run(8, 2048, 64);
  a.tpot.reset();
  b.tpot.reset();
  EXPECT_NEAR(Fit({a, b})->effective_bandwidth->value() / kBandwidth, 1, 1e-12);
}

TEST_F(FitProfileTest, OnePhaseAloneIsEnough) {
  ProfileSample prefill_a{.prompt_tokens = 512, .ttft = Run(1, 512, 1).ttft};
  ProfileSample prefill_b{.prompt_tokens = 2048, .ttft = Run(1, 2048, 1).ttft};
  const ProfileFit prefill = *Fit({prefill_a, prefill_b});
  EXPECT_TRUE(prefill.prefill.has_value());
  EXPECT_FALSE(prefill.effective_bandwidth.has_value());

  const ProfileSample decode{.prompt_tokens = 512, .output_tokens = 64, .tpot = Run(1, 512, 64).tpot};
  const ProfileFit one = *Fit({decode});
  EXPECT_FALSE(one.prefill.has_value());
  EXPECT_FALSE(one.decode.has_value()) << "no line through one point";
  EXPECT_NEAR(one.effective_bandwidth->value() / kBandwidth, 1, 1e-12);
  EXPECT_FALSE(ProfileOf(scenario_, one).prefill_tokens_per_second.has_value());
}

// Two replicas share the batch; the profile is of one.
TEST_F(FitProfileTest, DataParallelReplicasShareTheBatch) {
  ProfileSample a = Run(4, 512, 64);
  ProfileSample b = Run(8, 1024, 64);
  a.batch_size = 8;
  b.batch_size = 16;
  scenario_.deployment.data_parallel = 2;
  const absl::StatusOr<ProfileFit> fit = Fit({a, b});
  ASSERT_TRUE(fit.ok()) << fit.status();
  EXPECT_NEAR(fit->prefill->slope, kRate, 1e-6);
  EXPECT_NEAR(fit->effective_bandwidth->value() / kBandwidth, 1, 1e-12);
}

TEST_F(FitProfileTest, RejectsWithAReason) {
  const auto with = [](auto change) {
    ProfileSample sample = Run(2, 512, 64);
    change(sample);
    return sample;
  };
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double inf = std::numeric_limits<double>::infinity();
  struct Case {
    ProfileSample sample;
    const char* reason;
  };
  const Case cases[] = {
      {with([](ProfileSample& s) { s.ttft = Seconds(0); }), "not finite and positive"},
      {with([](ProfileSample& s) { s.tpot = Seconds(-1); }), "not finite and positive"},
      {with([&](ProfileSample& s) { s.e2e = Seconds(nan); }), "not finite and positive"},
      {with([&](ProfileSample& s) { s.ttft = Seconds(inf); }), "not finite and positive"},
      {with([](ProfileSample& s) { s.ttft = s.tpot = s.e2e = std::nullopt; }), "states neither"},
      {with([](ProfileSample& s) { s.ttft = s.tpot = std::nullopt; }), "states neither"},
      {with([](ProfileSample& s) {
         s.tpot.reset();
         s.e2e = *s.ttft * 0.5;
       }),
       "e2e_seconds is not above ttft_seconds"},
      {with([](ProfileSample& s) { s.e2e = *s.ttft * 0.5; }), "e2e_seconds is not above ttft_seconds"},
      {with([](ProfileSample& s) { s.ttft = Seconds(1e-3); }), "ttft 0.001 s is faster than the speed of light"},
      {with([](ProfileSample& s) { s.tpot = Seconds(1e-3); }), "tpot 0.001 s is faster than the speed of light"},
  };
  for (const Case& c : cases) EXPECT_THAT(ReasonToReject(c.sample), HasSubstr(c.reason));
}

TEST_F(FitProfileTest, RefusesTooFewSamples) {
  const auto refusal = [&](const std::vector<ProfileSample>& samples) {
    const absl::Status status = Fit(samples).status();
    EXPECT_EQ(DetailOf(status).reason, Reason::kInsufficientSamples) << status;
    return std::string(status.message());
  };
  EXPECT_THAT(refusal({}), HasSubstr("none was given"));
  EXPECT_THAT(refusal({{.ttft = Seconds(-1)}}), HasSubstr("none of 1 samples is usable"));
  EXPECT_THAT(refusal({Run(1, 512, 64)}), HasSubstr("at least 2"));
  EXPECT_THAT(refusal({Run(1, 512, 64), Run(1, 512, 128)}), HasSubstr("at least 2"));
  ProfileSample again = Run(1, 512, 64);  // a repeat, which never takes quite as long
  again.ttft = 1.1 * *again.ttft;
  EXPECT_THAT(refusal({Run(1, 512, 64), again}), HasSubstr("2 usable prefill sample(s) with one number of tokens"));
}

TEST_F(FitProfileTest, RefusesARateThatFalls) {
  ProfileSample slow = Run(1, 512, 64);
  slow.ttft = Seconds(9);
  slow.e2e = Seconds(10);
  EXPECT_EQ(DetailOf(Fit({slow, Run(8, 1024, 64)}).status()).reason, Reason::kInvalidField);
}

}  // namespace
}  // namespace foretoken
