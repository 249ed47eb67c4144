#include "client/cli/validation/validation_baseline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

namespace foretoken::cli {
namespace {

using testing::HasSubstr;

ValidationReport Report(double a, double b) {
  ValidationReport report;
  report.groups[{"m.csv", "gpu", "vllm", "a"}].errors[0] = {.rows = 2, .median_absolute = a};
  report.groups[{"m.csv", "gpu", "vllm", "b"}].errors[0] = {.rows = 2, .median_absolute = b};
  return report;
}

TEST(BaselineTest, ReadsWhatTheReportPrints) {
  std::istringstream csv(ReportCsv(Report(0.2, 0.4)));
  const absl::StatusOr<Baseline> baseline = ReadBaseline("before.csv", csv);
  ASSERT_TRUE(baseline.ok()) << baseline.status();
  const std::string text = ComparisonText(*baseline, Report(0.1, 0.405), {});
  EXPECT_THAT(text, HasSubstr("TTFT         2   30.0%  25.2%"));  // (0.2 + 0.4) / 2, (0.1 + 0.405) / 2 = 0.2525
  EXPECT_THAT(text, HasSubstr("1 medians of groups moved by more than a point"));
  EXPECT_THAT(text, HasSubstr("gpu       vllm    a      TTFT     20.0%  10.0%"));
}

TEST(BaselineTest, SaysWhatIsWrongWithIt) {
  std::istringstream rows("hardware,model\nh,m\n");
  EXPECT_THAT(std::string(ReadBaseline("x.csv", rows).status().message()), HasSubstr("x.csv:1: no column file"));
  std::istringstream bad("file,hardware,engine,model,metric,median_absolute_error\nf,h,e,m,TTFT,much\n");
  EXPECT_THAT(std::string(ReadBaseline("x.csv", bad).status().message()),
              HasSubstr("x.csv:2: median_absolute_error \"much\"; allowed: a finite number"));
}

}  // namespace
}  // namespace foretoken::cli
