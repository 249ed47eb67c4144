// Every enum of the API is proven against ours (server/rpc/wire/twin_enums.cc, and where deployments and simulations
// are converted), or named here with the reason why there is nothing to prove.
#include <gmock/gmock.h>
#include <google/protobuf/descriptor.h>

#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "foretoken/v1/catalog_service.pb.h"
#include "foretoken/v1/estimator_service.pb.h"
#include "tests/paths.h"

namespace foretoken::rpc {
namespace {

const std::map<std::string, std::string>& WithoutATwin() {
  static const auto& reasons = *new std::map<std::string, std::string>{
      {"AttentionType", "checked against the numbers of heads, and not kept"},
      {"CalibrationLevel", "follows from what a calibration names"},
      {"CalibrationBasis", "a registration's own, in the API's words"},
      {"EntryOrigin", "the catalog's own, in the API's words"},
      {"FrontierMetric", "a sweep's own, in the API's words"},
      {"HardwareKind", "for people; the core model does not ask"},
      {"Metric", "one row each in server/rpc/sweep/sweep_metric.cc"},
      {"RankBy", "a batch's own, in the API's words"},
  };
  return reasons;
}

void AddEnums(const google::protobuf::FileDescriptor& file, std::set<std::string>& names) {
  if (file.package() != "foretoken.v1") return;
  for (int i = 0; i < file.enum_type_count(); ++i) names.insert(file.enum_type(i)->name());
  for (int i = 0; i < file.dependency_count(); ++i) AddEnums(*file.dependency(i), names);
}

TEST(TwinEnumsTest, EveryEnumOfTheApiHasItsTwinProvenOrIsExcused) {
  std::stringstream text;
  for (const char* path :
       {"server/rpc/wire/twin_enums.cc", "server/rpc/wire/convert_deployment.cc", "server/rpc/wire/convert_load.cc",
        "server/rpc/wire/convert_use.cc", "server/rpc/simulate/convert_simulation.cc"}) {
    text << std::ifstream(SourcePath(path)).rdbuf();
  }
  const std::string proof = text.str();
  std::set<std::string> names;
  AddEnums(*v1::EstimateRequest::descriptor()->file(), names);
  AddEnums(*v1::RegisterHardwareRequest::descriptor()->file(), names);
  EXPECT_GE(names.size(), 20u);
  for (const std::string& name : names) {
    const bool proven = absl::StrContains(proof, absl::StrCat("v1::", name, "_ARRAYSIZE"));
    EXPECT_NE(proven, WithoutATwin().contains(name)) << name;
  }
}

}  // namespace
}  // namespace foretoken::rpc
