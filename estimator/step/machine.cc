#include "estimator/step/machine.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "estimator/base/errors.h"

namespace foretoken {
namespace {

struct PeakField {
  std::optional<FlopsPerSecond> PeakCompute::*peak;
  const char* field;
  Dtype dtype;
};

constexpr PeakField kFp32 = {&PeakCompute::fp32, "peak.fp32_flops_per_second", Dtype::kFp32};
constexpr PeakField kBf16 = {&PeakCompute::bf16, "peak.bf16_flops_per_second", Dtype::kBf16};
constexpr PeakField kFp16 = {&PeakCompute::fp16, "peak.fp16_flops_per_second", Dtype::kFp16};
constexpr PeakField kFp8 = {&PeakCompute::fp8, "peak.fp8_flops_per_second", Dtype::kFp8};
constexpr PeakField kInt8 = {&PeakCompute::int8, "peak.int8_ops_per_second", Dtype::kInt8};
constexpr PeakField kInt4 = {&PeakCompute::int4, "peak.int4_ops_per_second", Dtype::kInt4};
constexpr PeakField kFp4 = {&PeakCompute::fp4, "peak.fp4_flops_per_second", Dtype::kNvfp4};

constexpr PeakField kFp32Order[] = {kFp32};
constexpr PeakField kFp16Order[] = {kFp16, kBf16, kFp32};
constexpr PeakField kFp8Order[] = {kFp8, kBf16, kFp16, kFp32};
constexpr PeakField kInt8Order[] = {kInt8, kBf16, kFp16, kFp32};
constexpr PeakField kInt4Order[] = {kInt4, kInt8, kBf16, kFp16, kFp32};
constexpr PeakField kFp4Order[] = {kFp4, kFp8, kBf16, kFp16, kFp32};
constexpr PeakField kBf16Order[] = {kBf16, kFp16, kFp32};

// The peak that computes in a dtype, then its substitutes, in the order of preference.
std::span<const PeakField> PeakOrder(Dtype dtype) {
  switch (dtype) {
    case Dtype::kFp32:
      return kFp32Order;
    case Dtype::kFp16:
      return kFp16Order;
    case Dtype::kFp8:
    case Dtype::kFp8Block:
      return kFp8Order;
    case Dtype::kInt8:
      return kInt8Order;
    case Dtype::kInt4:
      return kInt4Order;
    case Dtype::kNvfp4:
    case Dtype::kMxfp4:
      return kFp4Order;
    default:
      return kBf16Order;
  }
}

void WarnSubstituted(const Hardware& hardware, Dtype dtype, const PeakField& wanted, const PeakField& used,
                     std::vector<Warning>* warnings) {
  if (warnings == nullptr) return;
  warnings->push_back(
      {WarningCode::kPeakSubstituted,
       absl::StrCat("hardware ", hardware.id, " states no ", wanted.field, " for ", std::string(DtypeName(dtype)),
                    "; computed at ", used.field, ", ", (hardware.peak.*used.peak)->value() / 1e12, "e12"),
       absl::StrCat("hardware_spec.", wanted.field)});
}

void WarnOfNode(const Hardware& hardware, int joined, std::vector<Warning>* warnings) {
  constexpr int kUsualNode = 8;  // HGX and OAM boards
  if (warnings == nullptr || joined <= kUsualNode) return;
  warnings->push_back({WarningCode::kFigureAbsent,
                       absl::StrCat("hardware ", hardware.id, " states no devices_per_node; all ", joined,
                                    " devices are taken to be in one node"),
                       "deployment.devices_per_node"});
}

void WarnOfPcie(const Hardware& hardware, int joined, std::vector<Warning>* warnings) {
  if (warnings == nullptr || !hardware.interconnect_is_pcie) return;
  warnings->push_back({WarningCode::kPcieLink,
                       absl::StrCat("hardware ", hardware.id, " has no link of its own between devices; ", joined,
                                    " devices exchange over PCIe, at ", hardware.interconnect->value() / 1e9, " GB/s"),
                       "hardware_spec.interconnect_name"});
}

// The links between the placement's devices. Errors: kMissingFigure, naming the link that is not stated.
absl::StatusOr<Fabric> MakeFabric(const Hardware& hardware, const Placement& placement,
                                  const Efficiencies& efficiencies, std::vector<Warning>* warnings) {
  Fabric fabric{.latency = efficiencies.link_latency, .free = efficiencies.speed_of_light};
  const int devices = placement.devices();
  if (devices == 1 || fabric.free) return fabric;
  const bool replicas_meet = placement.expert_parallel > 1;
  const int joined =
      placement.tensor_parallel * placement.pipeline_parallel * (replicas_meet ? placement.data_parallel : 1);
  if (joined == 1) return fabric;
  if (!hardware.interconnect) {
    return MissingFigure(hardware, "interconnect_bytes_per_second",
                         absl::StrCat("tensor_parallel ", placement.tensor_parallel, ", pipeline_parallel ",
                                      placement.pipeline_parallel, ", expert_parallel ", placement.expert_parallel));
  }
  fabric.link = *hardware.interconnect * efficiencies.link;
  WarnOfPcie(hardware, joined, warnings);
  const auto per_node = placement.devices_per_node ? placement.devices_per_node : hardware.devices_per_node;
  if (!per_node) WarnOfNode(hardware, joined, warnings);
  if (!per_node || joined <= *per_node) return fabric;
  const auto scale_out = placement.scale_out ? placement.scale_out : hardware.scale_out;
  if (!scale_out) {
    return MissingFigure(hardware, "scale_out_bytes_per_second",
                         absl::StrCat(joined, " devices at ", *per_node, " per node"));
  }
  fabric.devices_per_node = *per_node;
  fabric.scale_out = *scale_out * efficiencies.link;
  return fabric;
}

// The rate that matrix products reach. A FLOP takes its time on the matrix units and its share of the time to load an
// element, which nothing hides. Devices with much compute per memory bandwidth reach a smaller share of their peak.
FlopsPerSecond MatrixRate(const Peak& peak, BytesPerSecond memory, const Efficiencies& efficiencies) {
  const double computing = 1 / (peak.rate * efficiencies.gemm).value();
  const double feeding = (peak.element / memory).value() / efficiencies.gemm_reuse;
  return FlopsPerSecond(1 / (computing + feeding));
}

// The rate that decode attention reaches on the vector units. An efficiency above 1 belongs to kernels on the matrix
// units, whose rate is the only known limit where no vector rate is stated. Kernels gain less than the vector peak,
// because twice the lanes in a core still execute one stream of instructions.
FlopsPerSecond VectorRate(const Hardware& hardware, FlopsPerSecond matrix, const Efficiencies& efficiencies) {
  const FlopsPerSecond peak = hardware.peak.fp32.value_or(matrix);
  const FlopsPerSecond roof = std::max(peak, matrix);
  if (efficiencies.speed_of_light) return roof;
  const FlopsPerSecond reference = efficiencies.vector_reference;
  if (reference.value() <= 0) return std::min(peak * efficiencies.decode_attention, roof);
  return std::min(reference * (efficiencies.decode_attention * std::sqrt(peak / reference)), roof);
}

// The rate of recurrences: their states are in fp32, so that kernels work on the vector units and on matrix units at a
// fraction of their rate.
FlopsPerSecond RecurrenceRate(const Hardware& hardware, FlopsPerSecond matrix, const Efficiencies& efficiencies) {
  const FlopsPerSecond roof = std::max(hardware.peak.fp32.value_or(matrix), matrix);
  if (efficiencies.speed_of_light) return roof;
  return std::min(hardware.peak.fp32.value_or(matrix) * efficiencies.recurrence, roof);
}

// What the kernels of routed experts reach, in their format.
absl::Status AddExperts(const Hardware& hardware, Dtype weight, const Placement& placement,
                        const Efficiencies& efficiencies, std::vector<Warning>* warnings, Machine& machine) {
  const Dtype activation = placement.activation_dtype;
  const Dtype dtype = ComputeDtype(weight, activation);
  const bool told = dtype == ComputeDtype(placement.weight_dtype, activation);
  const absl::StatusOr<Peak> peak = PeakFor(hardware, dtype, told ? nullptr : warnings);
  if (!peak.ok()) return peak.status();
  const ExpertKernels& kernels = efficiencies.experts[static_cast<size_t>(FormatOf(weight, activation))];
  machine.expert_peak = peak->rate;
  machine.expert_gemm = peak->rate * kernels.gemm;
  machine.expert_rows = kernels.row_rate;
  machine.expert_half_rows = kernels.half_rows;
  return absl::OkStatus();
}

}  // namespace

absl::Status MissingFigure(const Hardware& hardware, const std::string& field, const std::string& purpose) {
  return Refusal(Reason::kMissingFigure, absl::StrCat("hardware_spec.", field),
                 absl::StrCat("hardware ", hardware.id, " states no ", field, "; needed for ", purpose));
}

Dtype ComputeDtype(Dtype weight, Dtype activation) {
  return BytesPerElement(weight) > BytesPerElement(activation) ? weight : activation;
}

absl::StatusOr<Peak> PeakFor(const Hardware& hardware, Dtype dtype, std::vector<Warning>* warnings) {
  const std::span<const PeakField> order = PeakOrder(dtype);
  for (const PeakField& candidate : order) {
    if (!(hardware.peak.*candidate.peak)) continue;
    if (candidate.peak != order.front().peak) {
      WarnSubstituted(hardware, dtype, order.front(), candidate, warnings);
    }
    return Peak{*(hardware.peak.*candidate.peak), BytesPerElement(candidate.dtype)};
  }
  return MissingFigure(hardware, order.front().field, absl::StrCat("computing in ", std::string(DtypeName(dtype))));
}

double VectorBalance(const Hardware& hardware) {
  if (!hardware.peak.fp32 || !hardware.memory_bandwidth) return 0;
  return std::sqrt(hardware.peak.fp32->value() / 1e12) / (hardware.memory_bandwidth->value() / 1e12);
}

Efficiencies TransferredTo(const Hardware& hardware, Efficiencies efficiencies) {
  const double measured = std::exchange(efficiencies.weight_read_balance, 0);
  if (measured <= 0) return efficiencies;
  const double risen = efficiencies.weight_read * VectorBalance(hardware) / measured;
  efficiencies.weight_read = std::max(efficiencies.weight_read, std::min(risen, GenericPrior().weight_read));
  return efficiencies;
}

absl::StatusOr<Machine> MakeMachine(const Hardware& hardware, const Placement& placement, Dtype experts,
                                    const Efficiencies& efficiencies, std::vector<Warning>* warnings) {
  if (!hardware.memory_bandwidth) return MissingFigure(hardware, "memory_bandwidth_bytes_per_second", "every estimate");
  if (!hardware.memory_capacity) return MissingFigure(hardware, "memory_capacity_bytes", "telling what fits");
  const Dtype dtype = ComputeDtype(placement.weight_dtype, placement.activation_dtype);
  const absl::StatusOr<Peak> peak = PeakFor(hardware, dtype, warnings);
  if (!peak.ok()) return peak.status();
  const Dtype head = ComputeDtype(Dtype::kBf16, placement.activation_dtype);
  const absl::StatusOr<Peak> head_peak = PeakFor(hardware, head, nullptr);
  if (!head_peak.ok()) return head_peak.status();
  const absl::StatusOr<Peak> index_peak = PeakFor(hardware, Dtype::kFp8, nullptr);
  if (!index_peak.ok()) return index_peak.status();
  const absl::StatusOr<Fabric> fabric = MakeFabric(hardware, placement, efficiencies, warnings);
  if (!fabric.ok()) return fabric.status();
  const BytesPerSecond memory = *hardware.memory_bandwidth;
  Machine machine{
      .matrix_peak = peak->rate,
      .memory_peak = memory,
      .memory_capacity = *hardware.memory_capacity,
      .gemm = MatrixRate(*peak, memory, efficiencies),
      .head_gemm = MatrixRate(*head_peak, memory, efficiencies),
      .prefill_attention = head_peak->rate * efficiencies.prefill_attention,
      .decode_attention = VectorRate(hardware, head_peak->rate, efficiencies),
      .indexer = index_peak->rate * efficiencies.prefill_attention,
      .recurrence = RecurrenceRate(hardware, head_peak->rate, efficiencies),
      .weight_read = memory * TransferredTo(hardware, efficiencies).weight_read,
      .kv_read = memory * efficiencies.kv_read,
      .elementwise = memory * efficiencies.elementwise,
      .fabric = *fabric,
  };
  if (experts == Dtype::kUnspecified) return machine;
  if (absl::Status status = AddExperts(hardware, experts, placement, efficiencies, warnings, machine); !status.ok()) {
    return status;
  }
  return machine;
}

}  // namespace foretoken
