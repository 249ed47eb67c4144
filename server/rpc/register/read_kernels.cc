#include "server/rpc/register/read_kernels.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "estimator/base/errors.h"
#include "server/rpc/wire/convert.h"

namespace foretoken::rpc {
namespace {

// As those of a model (parse_model.cc).
constexpr int kMaxWidth = 1 << 24;
constexpr int kMaxExperts = 1 << 16;

void CheckEngine(const v1::KernelSample& message, FieldChecker& fields) {
  if (message.engine().empty()) return fields.Required("engine");
  v1::Deployment deployment;
  deployment.set_engine(message.engine());
  ReadDeployment(deployment, fields);
}

Dtype ReadDtype(const char* field, v1::Dtype value, FieldChecker& fields) {
  if (value == v1::DTYPE_UNSPECIFIED) fields.Required(field);
  return fields.Dtype(field, value);
}

// At most as many as the tokens choose. Means over repeats are written with a few decimals.
double ReadRows(const v1::RoutedExpertsKernel& message, FieldChecker& fields) {
  constexpr double kRounding = 0.05;
  const double most = static_cast<double>(message.tokens()) * message.num_experts_per_tok();
  const double rows = fields.NotNegative("routed_experts.rows", message.rows());
  if (most >= 1 && rows > most + kRounding) {
    fields.Add("routed_experts.rows",
               absl::StrCat("rows ", rows, "; allowed up to tokens * num_experts_per_tok, ", most));
  }
  return rows;
}

ExpertsKernel ReadExperts(const v1::KernelSample& sample, FieldChecker& fields) {
  const v1::RoutedExpertsKernel& message = sample.routed_experts();
  const auto count = [&fields](const char* field, int value, int most) {
    return static_cast<double>(fields.Int(std::string("routed_experts.") + field, value, 1, most));
  };
  const int matrices = message.has_mlp_matrices() ? message.mlp_matrices() : 3;
  return {.tokens = count("tokens", message.tokens(), kMaxTokens),
          .chosen = count("num_experts_per_tok", message.num_experts_per_tok(), kMaxExperts),
          .rows = ReadRows(message, fields),
          .experts = fields.Between("routed_experts.num_experts", message.num_experts(), 1e-3, kMaxExperts),
          .hidden = count("hidden_size", message.hidden_size(), kMaxWidth),
          .width = count("moe_intermediate_size", message.moe_intermediate_size(), kMaxWidth),
          .matrices = static_cast<double>(fields.Int("routed_experts.mlp_matrices", matrices, 2, 3)),
          .weight_dtype = ReadDtype("weight_dtype", sample.weight_dtype(), fields),
          .activation_dtype = ReadDtype("activation_dtype", sample.activation_dtype(), fields)};
}

// The one place that tells kinds of kernels apart.
KernelSample ReadKernel(const v1::KernelSample& message, const Hardware& hardware, FieldChecker& fields) {
  CheckEngine(message, fields);
  KernelSample sample{.hardware = &hardware,
                      .measured = Seconds(fields.Positive("measured_seconds", message.measured_seconds()))};
  switch (message.kernel_case()) {
    case v1::KernelSample::kRoutedExperts:
      sample.kernel = ReadExperts(message, fields);
      break;
    case v1::KernelSample::KERNEL_NOT_SET:
      fields.Add("kernel", "one of routed_experts is required");
  }
  return sample;
}

}  // namespace

absl::StatusOr<std::vector<KernelSample>> ReadKernels(const v1::RegisterHardwareRequest& request,
                                                      const Hardware& hardware) {
  if (request.kernels_size() > kMaxKernels) {
    return Refusal(Reason::kLimitExceeded, "kernels",
                   absl::StrCat(request.kernels_size(), " kernels; allowed at most ", kMaxKernels));
  }
  std::vector<FieldViolation> violations;
  std::vector<KernelSample> kernels;
  for (int i = 0; i < request.kernels_size(); ++i) {
    const std::string prefix = absl::StrCat("kernels[", i, "].");
    FieldChecker fields(prefix, violations);
    kernels.push_back(ReadKernel(request.kernels(i), hardware, fields));
  }
  if (absl::Status status = InvalidFields(violations); !status.ok()) return status;
  return kernels;
}

}  // namespace foretoken::rpc
