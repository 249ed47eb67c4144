#include "server/catalog/entries/engines.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "estimator/scenario/engine_version.h"
#include "estimator/step/machine.h"
#include "server/catalog/entries/closest_ids.h"
#include "server/catalog/entries/snapshot.h"
#include "server/catalog/spec/field_checker.h"

namespace foretoken::catalog {
namespace {

// The engines that are known without a measurement: the one list. Each is named as its project writes it, in lower
// case.
struct KnownEngine {
  std::string_view name;
  std::string_view source;
};
constexpr KnownEngine kKnown[] = {
    {"fastertransformer", "github.com/NVIDIA/FasterTransformer"},
    {"llama.cpp", "github.com/ggml-org/llama.cpp"},
    {"lmdeploy", "github.com/InternLM/lmdeploy"},
    {"sglang", "github.com/sgl-project/sglang"},
    {"tensorrt-llm", "github.com/NVIDIA/TensorRT-LLM"},
    {"tgi", "github.com/huggingface/text-generation-inference"},
    {"vllm", "github.com/vllm-project/vllm"},
};

constexpr size_t kMostListed = 20;

// How unlike two devices are in what decode depends on most.
double BandwidthsApart(const Hardware& a, const Hardware& b) {
  if (!a.memory_bandwidth || !b.memory_bandwidth) return std::numeric_limits<double>::infinity();
  return std::abs(std::log(*a.memory_bandwidth / *b.memory_bandwidth));
}

}  // namespace

Engines::Engines(const Calibrations& shipped, const std::vector<std::shared_ptr<const HardwareRecord>>& hardware) {
  for (const KnownEngine& known : kKnown) names_.insert(known.name);
  absl::flat_hash_map<std::string_view, const HardwareRecord*> by_id;
  by_id.reserve(hardware.size());
  for (const auto& record : hardware) {
    by_id.emplace(record->hardware.id, record.get());
    AddEntry(*record);
  }
  for (const Calibration& calibration : shipped.all()) {
    if (!calibration.engine.empty()) names_.insert(EngineName(calibration.engine));
    const auto found = by_id.find(calibration.hardware_id);
    if (found != by_id.end()) AddRelative(calibration, *found->second);
  }
}

void Engines::AddEntry(const HardwareRecord& record) {
  for (const LinearProfile& profile : record.hardware.linear_profiles) {
    if (!profile.key.engine.empty()) names_.insert(EngineName(profile.key.engine));
  }
  if (record.hardware.calibrations == nullptr) return;
  for (const Calibration& calibration : record.hardware.calibrations->all()) {
    if (!calibration.engine.empty()) names_.insert(EngineName(calibration.engine));
    AddRelative(calibration, record);
  }
}

void Engines::AddRelative(const Calibration& calibration, const HardwareRecord& measured_on) {
  const std::string_view vendor = measured_on.entry.spec().vendor();
  if (vendor.empty() || calibration.engine.empty() || !calibration.model_id.empty()) return;
  if (calibration.of_kernels) return;  // the engine has a calibration of all its kernels
  std::vector<Relative>& there = relatives_[{vendor, EngineName(calibration.engine), calibration.continuous}];
  // What is registered for a device was added before what ships, and answers there in its place.
  const bool replaced = std::any_of(there.begin(), there.end(), [&](const Relative& relative) {
    return relative.measured_on == &measured_on.hardware && relative.calibration.engine == calibration.engine;
  });
  if (replaced) return;
  Relative& relative = there.emplace_back(Relative{calibration, &measured_on.hardware});
  relative.calibration.hardware_id.clear();
  relative.calibration.bands = {};
  relative.calibration.efficiencies.weight_read_balance = VectorBalance(measured_on.hardware);
}

bool Engines::Know(std::string_view engine) const { return names_.contains(EngineName(engine)); }

std::string Engines::Unknown(std::string_view engine) const {
  std::vector<std::string_view> known(names_.begin(), names_.end());
  std::string message = absl::StrCat("unknown engine ", Quoted(engine));
  const std::string near = DidYouMean(EngineName(engine), known);
  if (!near.empty()) return message + near;
  std::sort(known.begin(), known.end());
  const size_t listed = std::min(known.size(), kMostListed);
  absl::StrAppend(&message, "; known: ");
  for (size_t i = 0; i < listed; ++i) message.append(i == 0 ? "" : ", ").append(known[i]);
  if (listed < known.size()) absl::StrAppend(&message, " and ", known.size() - listed, " more");
  return message;
}

const Calibration* Engines::Nearest(const Hardware& hardware, std::string_view vendor, std::string_view engine,
                                    bool continuous) const {
  const auto found = relatives_.find({vendor, EngineName(engine), continuous});
  if (found == relatives_.end()) return nullptr;
  const auto apart = [&](const Relative& relative) {
    return std::tuple<double, double, std::string_view>(VersionsApart(engine, relative.calibration.engine),
                                                        BandwidthsApart(hardware, *relative.measured_on),
                                                        relative.calibration.id);
  };
  const auto nearest = std::min_element(found->second.begin(), found->second.end(),
                                        [&](const Relative& a, const Relative& b) { return apart(a) < apart(b); });
  return &nearest->calibration;
}

}  // namespace foretoken::catalog
