#include "estimator/scenario/estimate.h"

#include <gtest/gtest.h>

#include "tests/estimator/fixtures.h"

namespace foretoken {
namespace {

// 1,000 prompt and 24 output tokens are the 1,024 that the model was made for; one more is too long.
TEST(WarnOfContextTest, TheLengthThatAModelWasMadeForIsNotTooLong) {
  Model model = Llama2_7b();
  Workload workload{.prompt_tokens = 1000, .output_tokens = 24};
  std::vector<Warning> warnings;
  WarnOfContext(model, workload, warnings);
  EXPECT_TRUE(warnings.empty()) << "the model states no length";
  model.max_position_embeddings = 1024;
  WarnOfContext(model, workload, warnings);
  EXPECT_TRUE(warnings.empty());
  workload.output_tokens = 25;
  WarnOfContext(model, workload, warnings);
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_EQ(warnings[0].code, WarningCode::kContextTooLong);
}

}  // namespace
}  // namespace foretoken
