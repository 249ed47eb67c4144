// The linear profile against recorded outputs of its source, with the source's own data tables. Those hold faults: two
// models are 1,000 times too large, one KV size is four times too large, and KiB are divided by 1,024 twice into
// decimal GB. They are reproduced here and nowhere else.
#include <google/protobuf/struct.pb.h>
#include <google/protobuf/util/json_util.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>

#include "estimator/methods/linear_profile.h"
#include "tests/paths.h"

namespace foretoken {
namespace {

constexpr double kRelative = 1e-12;

using Object = google::protobuf::Struct;

Object ReadGolden() {
  std::ifstream in(SourcePath("tests/golden/llm_simulator.json"));
  std::stringstream text;
  text << in.rdbuf();
  Object golden;
  const auto status = google::protobuf::util::JsonStringToMessage(text.str(), &golden);
  EXPECT_TRUE(status.ok()) << status.ToString();
  return golden;
}

const google::protobuf::Value& At(const Object& object, const std::string& key) { return object.fields().at(key); }
const Object& Sub(const Object& object, const std::string& key) { return At(object, key).struct_value(); }
double Number(const Object& object, const std::string& key) { return At(object, key).number_value(); }
const std::string& Text(const Object& object, const std::string& key) { return At(object, key).string_value(); }

LinearDecode DecodeOf(const Object& golden, const Object& vector) {
  const Object& model = Sub(Sub(golden, "model_json"), Text(vector, "model"));
  const Object& gpu = Sub(Sub(golden, "gpu_json"), Text(vector, "gpu"));
  const double kib_per_gib = 1024.0 * 1024.0;
  return {.weights = Gigabytes(Number(model, "model_size_GB")),
          .kv_per_token = Gigabytes(Number(model, "kvc_size_KB") / kib_per_gib),
          .batch = Number(vector, "bsz"),
          .prompt_tokens = Number(vector, "prompt_length"),
          .bandwidth = GigabytesPerSecond(Number(gpu, "memory_bw") * Number(gpu, "memory_bw_util") / 100)};
}

void ExpectNear(Seconds got, double want, const std::string& what) {
  EXPECT_NEAR(got.value(), want, kRelative * want) << what;
}

// The file shortens long lists: the first entries, "...", the last ones.
void ExpectLatencies(const std::vector<Seconds>& got, const Object& vector) {
  const auto& want = At(vector, "latencys").list_value().values();
  ASSERT_EQ(got.size(), static_cast<size_t>(Number(vector, "n_latencys")));
  const int count = want.size();
  for (int i = 0; i < count && want[i].has_number_value(); ++i) ExpectNear(got[i], want[i].number_value(), "head");
  for (int i = 1; i <= count && want[count - i].has_number_value(); ++i) {
    ExpectNear(got[got.size() - i], want[count - i].number_value(), "tail");
  }
}

void Check(const Object& golden, const Object& vector) {
  const LinearDecode decode = DecodeOf(golden, vector);
  const double steps = Number(vector, "response_length");
  const double rate = Number(Sub(Sub(golden, "ptps_json"), Text(vector, "model")), Text(vector, "gpu"));
  const Seconds prefill = LinearPrefill(decode.batch * decode.prompt_tokens, rate);
  const Seconds total = LinearDecodeTotal(decode, steps);
  const LinearCoefficients k = CoefficientsOf(decode);

  ExpectNear(prefill, Number(vector, "prompt_latency_s"), "prefill");
  ExpectNear(total, Number(vector, "token_phase_total_s"), "decode");
  ExpectNear(total, Number(vector, "exact_closed_form_s"), "closed form");
  ExpectNear(prefill + total, Number(vector, "total_latency_s"), "total");
  ExpectNear(LinearDecodeTotalReadme(decode, steps), Number(vector, "readme_closed_form_s"), "README form");
  ExpectNear(1.2 * total, Number(vector, "notebook_1p2_token_phase_s"), "the notebook's factor");
  ExpectNear(k.alpha, Number(vector, "alpha"), "alpha");
  ExpectNear(k.beta, Number(vector, "beta"), "beta");
  ExpectNear(k.c, Number(vector, "c"), "C");
  if (steps > 0) {
    ExpectNear(LinearDecodeStep(decode, 0), Number(vector, "first_token_step_s"), "first step");
    ExpectNear(LinearDecodeStep(decode, steps - 1), Number(vector, "last_token_step_s"), "last step");
  }
  ExpectLatencies(LinearLatencies(prefill, decode, static_cast<int>(steps)), vector);
}

TEST(LlmSimulatorGoldenTest, EveryVector) {
  const Object golden = ReadGolden();
  const auto& vectors = At(golden, "vectors").list_value().values();
  ASSERT_EQ(vectors.size(), 8);
  for (const auto& vector : vectors) {
    SCOPED_TRACE(Text(vector.struct_value(), "model") + " on " + Text(vector.struct_value(), "gpu"));
    Check(golden, vector.struct_value());
  }
}

}  // namespace
}  // namespace foretoken
