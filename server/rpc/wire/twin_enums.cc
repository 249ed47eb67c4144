// Proof at compile time that the enums which the API and our own code both have agree value by value, so that a
// static_cast between the two is right. A value that is added to one of a pair alone does not compile: in our enum the
// switch lacks a case, in the API's the count is off.
#include "estimator/base/dtype.h"
#include "estimator/base/errors.h"
#include "estimator/scenario/calibration.h"
#include "estimator/scenario/estimate.h"
#include "estimator/scenario/model.h"
#include "estimator/scenario/scenario.h"
#include "estimator/search/solve.h"
#include "foretoken/v1/catalog_service.pb.h"
#include "foretoken/v1/estimator_service.pb.h"
#include "server/catalog/store/store.h"

namespace foretoken::rpc {
namespace {

constexpr int kNone = -1;  // the number of no value of the API

// The same numbers.

constexpr v1::Provenance TwinOf(Provenance value) {
  switch (value) {
    case Provenance::kUnspecified:
      return v1::PROVENANCE_UNSPECIFIED;
    case Provenance::kCalibrated:
      return v1::PROVENANCE_CALIBRATED;
    case Provenance::kTransferred:
      return v1::PROVENANCE_TRANSFERRED;
    case Provenance::kDatasheet:
      return v1::PROVENANCE_DATASHEET;
    case Provenance::kSpeedOfLight:
      return v1::PROVENANCE_SPEED_OF_LIGHT;
  }
  return static_cast<v1::Provenance>(kNone);
}

constexpr v1::Bound TwinOf(Bound value) {
  switch (value) {
    case Bound::kUnspecified:
      return v1::BOUND_UNSPECIFIED;
    case Bound::kCompute:
      return v1::BOUND_COMPUTE;
    case Bound::kMemory:
      return v1::BOUND_MEMORY;
    case Bound::kCommunication:
      return v1::BOUND_COMMUNICATION;
    case Bound::kHost:
      return v1::BOUND_HOST;
    case Bound::kQueueing:
      return v1::BOUND_QUEUEING;
  }
  return static_cast<v1::Bound>(kNone);
}

constexpr v1::WarningCode TwinOf(WarningCode value) {
  switch (value) {
    case WarningCode::kUnspecified:
      return v1::WARNING_CODE_UNSPECIFIED;
    case WarningCode::kPeakSubstituted:
      return v1::WARNING_CODE_PEAK_SUBSTITUTED;
    case WarningCode::kContextTooLong:
      return v1::WARNING_CODE_CONTEXT_TOO_LONG;
    case WarningCode::kHeadsPadded:
      return v1::WARNING_CODE_HEADS_PADDED;
    case WarningCode::kExtrapolated:
      return v1::WARNING_CODE_EXTRAPOLATED;
    case WarningCode::kStaleLoad:
      return v1::WARNING_CODE_STALE_LOAD;
    case WarningCode::kStaleCatalog:
      return v1::WARNING_CODE_STALE_CATALOG;
    case WarningCode::kFigureAbsent:
      return v1::WARNING_CODE_FIGURE_ABSENT;
    case WarningCode::kWaves:
      return v1::WARNING_CODE_WAVES;
    case WarningCode::kNotUsed:
      return v1::WARNING_CODE_NOT_USED;
    case WarningCode::kPcieLink:
      return v1::WARNING_CODE_PCIE_LINK;
  }
  return static_cast<v1::WarningCode>(kNone);
}

constexpr v1::DisaggregatedLimit TwinOf(DisaggregationLimit value) {
  switch (value) {
    case DisaggregationLimit::kUnspecified:
      return v1::DISAGGREGATED_LIMIT_UNSPECIFIED;
    case DisaggregationLimit::kPrefill:
      return v1::DISAGGREGATED_LIMIT_PREFILL;
    case DisaggregationLimit::kTransfer:
      return v1::DISAGGREGATED_LIMIT_TRANSFER;
    case DisaggregationLimit::kDecode:
      return v1::DISAGGREGATED_LIMIT_DECODE;
  }
  return static_cast<v1::DisaggregatedLimit>(kNone);
}

constexpr v1::Method TwinOf(Method value) {
  switch (value) {
    case Method::kBestAvailable:
      return v1::METHOD_UNSPECIFIED;
    case Method::kOperatorModel:
      return v1::METHOD_OPERATOR_MODEL;
    case Method::kSpeedOfLight:
      return v1::METHOD_SPEED_OF_LIGHT;
    case Method::kLinearProfile:
      return v1::METHOD_LINEAR_PROFILE;
    case Method::kKpi:
      return v1::METHOD_KPI;
  }
  return static_cast<v1::Method>(kNone);
}

constexpr v1::Dtype TwinOf(Dtype value) {
  switch (value) {
    case Dtype::kUnspecified:
      return v1::DTYPE_UNSPECIFIED;
    case Dtype::kFp32:
      return v1::DTYPE_FP32;
    case Dtype::kBf16:
      return v1::DTYPE_BF16;
    case Dtype::kFp16:
      return v1::DTYPE_FP16;
    case Dtype::kFp8:
      return v1::DTYPE_FP8;
    case Dtype::kFp8Block:
      return v1::DTYPE_FP8_BLOCK;
    case Dtype::kInt8:
      return v1::DTYPE_INT8;
    case Dtype::kInt4:
      return v1::DTYPE_INT4;
    case Dtype::kNvfp4:
      return v1::DTYPE_NVFP4;
    case Dtype::kMxfp4:
      return v1::DTYPE_MXFP4;
    case Dtype::kQ8_0:
      return v1::DTYPE_Q8_0;
    case Dtype::kQ4_0:
      return v1::DTYPE_Q4_0;
    case Dtype::kQ4_K_M:
      return v1::DTYPE_Q4_K_M;
  }
  return static_cast<v1::Dtype>(kNone);
}

constexpr v1::Reason TwinOf(Reason value) {
  switch (value) {
    case Reason::kUnspecified:
      return v1::REASON_UNSPECIFIED;
    case Reason::kInvalidField:
      return v1::REASON_INVALID_FIELD;
    case Reason::kUnknownId:
      return v1::REASON_UNKNOWN_ID;
    case Reason::kOutOfMemory:
      return v1::REASON_OUT_OF_MEMORY;
    case Reason::kMissingFigure:
      return v1::REASON_MISSING_FIGURE;
    case Reason::kUnsupportedModel:
      return v1::REASON_UNSUPPORTED_MODEL;
    case Reason::kNotModelled:
      return v1::REASON_NOT_MODELLED;
    case Reason::kNoProfile:
      return v1::REASON_NO_PROFILE;
    case Reason::kLimitExceeded:
      return v1::REASON_LIMIT_EXCEEDED;
    case Reason::kAlreadyExists:
      return v1::REASON_ALREADY_EXISTS;
    case Reason::kEtagMismatch:
      return v1::REASON_ETAG_MISMATCH;
    case Reason::kRequestIdReused:
      return v1::REASON_REQUEST_ID_REUSED;
    case Reason::kBundledEntry:
      return v1::REASON_BUNDLED_ENTRY;
    case Reason::kStoreUnavailable:
      return v1::REASON_STORE_UNAVAILABLE;
    case Reason::kInsufficientSamples:
      return v1::REASON_INSUFFICIENT_SAMPLES;
    case Reason::kUnstableLoad:
      return v1::REASON_UNSTABLE_LOAD;
    case Reason::kPoorFit:
      return v1::REASON_POOR_FIT;
    case Reason::kRevisionNotKept:
      return v1::REASON_REVISION_NOT_KEPT;
    case Reason::kWriteNotAllowed:
      return v1::REASON_WRITE_NOT_ALLOWED;
    case Reason::kOverloaded:
      return v1::REASON_OVERLOADED;
  }
  return static_cast<v1::Reason>(kNone);
}

constexpr v1::SolveFor TwinOf(SolveFor value) {
  switch (value) {
    case SolveFor::kUnspecified:
      return v1::SOLVE_FOR_UNSPECIFIED;
    case SolveFor::kBatchSize:
      return v1::SOLVE_FOR_BATCH_SIZE;
    case SolveFor::kRequestRate:
      return v1::SOLVE_FOR_REQUEST_RATE;
    case SolveFor::kPromptTokens:
      return v1::SOLVE_FOR_PROMPT_TOKENS;
    case SolveFor::kTensorParallel:
      return v1::SOLVE_FOR_TENSOR_PARALLEL;
    case SolveFor::kHardware:
      return v1::SOLVE_FOR_HARDWARE;
  }
  return static_cast<v1::SolveFor>(kNone);
}

constexpr v1::Constraint TwinOf(Constraint value) {
  switch (value) {
    case Constraint::kUnspecified:
      return v1::CONSTRAINT_UNSPECIFIED;
    case Constraint::kTtft:
      return v1::CONSTRAINT_MAX_TTFT;
    case Constraint::kTpot:
      return v1::CONSTRAINT_MAX_TPOT;
    case Constraint::kE2e:
      return v1::CONSTRAINT_MAX_E2E;
    case Constraint::kMemory:
      return v1::CONSTRAINT_MEMORY;
    case Constraint::kStability:
      return v1::CONSTRAINT_STABILITY;
    case Constraint::kRange:
      return v1::CONSTRAINT_RANGE;
    case Constraint::kRefused:
      return v1::CONSTRAINT_REFUSED;
    case Constraint::kItl:
      return v1::CONSTRAINT_MAX_ITL;
  }
  return static_cast<v1::Constraint>(kNone);
}

constexpr v1::QkNorm TwinOf(QkNorm value) {
  switch (value) {
    case QkNorm::kNone:
      return v1::QK_NORM_UNSPECIFIED;
    case QkNorm::kPerHead:
      return v1::QK_NORM_PER_HEAD;
    case QkNorm::kFull:
      return v1::QK_NORM_FULL;
  }
  return static_cast<v1::QkNorm>(kNone);
}

// The API begins with "unspecified", which asks for our first value.

constexpr v1::BatchingPolicy TwinOf(BatchingPolicy value) {
  switch (value) {
    case BatchingPolicy::kStatic:
      return v1::BATCHING_POLICY_STATIC;
    case BatchingPolicy::kDynamic:
      return v1::BATCHING_POLICY_DYNAMIC;
    case BatchingPolicy::kContinuous:
      return v1::BATCHING_POLICY_CONTINUOUS;
  }
  return static_cast<v1::BatchingPolicy>(kNone);
}

constexpr v1::KvCacheMode TwinOf(KvCacheMode value) {
  switch (value) {
    case KvCacheMode::kCached:
      return v1::KV_CACHE_MODE_CACHED;
    case KvCacheMode::kNone:
      return v1::KV_CACHE_MODE_NONE;
    case KvCacheMode::kPromptCache:
      return v1::KV_CACHE_MODE_PROMPT_CACHE;
    case KvCacheMode::kPipelinedPromptCache:
      return v1::KV_CACHE_MODE_PIPELINED_PROMPT_CACHE;
  }
  return static_cast<v1::KvCacheMode>(kNone);
}

constexpr v1::CapacityPolicy TwinOf(CapacityPolicy value) {
  switch (value) {
    case CapacityPolicy::kRefuse:
      return v1::CAPACITY_POLICY_REFUSE;
    case CapacityPolicy::kWaves:
      return v1::CAPACITY_POLICY_WAVES;
  }
  return static_cast<v1::CapacityPolicy>(kNone);
}

constexpr v1::ExpertRouting TwinOf(ExpertRouting value) {
  switch (value) {
    case ExpertRouting::kIndependent:
      return v1::EXPERT_ROUTING_INDEPENDENT;
    case ExpertRouting::kIdenticalPrompts:
      return v1::EXPERT_ROUTING_IDENTICAL_PROMPTS;
  }
  return static_cast<v1::ExpertRouting>(kNone);
}

constexpr v1::AttentionKernel TwinOf(AttentionKernel value) {
  switch (value) {
    case AttentionKernel::kFlash:
      return v1::ATTENTION_KERNEL_FLASH;
    case AttentionKernel::kNaive:
      return v1::ATTENTION_KERNEL_NAIVE;
  }
  return static_cast<v1::AttentionKernel>(kNone);
}

constexpr v1::ExpertExchange TwinOf(ExpertExchange value) {
  switch (value) {
    case ExpertExchange::kAllGather:
      return v1::EXPERT_EXCHANGE_ALL_GATHER;
    case ExpertExchange::kAllToAll:
      return v1::EXPERT_EXCHANGE_ALL_TO_ALL;
  }
  return static_cast<v1::ExpertExchange>(kNone);
}

constexpr v1::NormType TwinOf(NormType value) {
  switch (value) {
    case NormType::kRmsNorm:
      return v1::NORM_TYPE_RMSNORM;
    case NormType::kLayerNorm:
      return v1::NORM_TYPE_LAYERNORM;
    case NormType::kNonParametric:
      return v1::NORM_TYPE_NON_PARAMETRIC;
    case NormType::kLayerNormNoBias:
      return v1::NORM_TYPE_LAYERNORM_NO_BIAS;
  }
  return static_cast<v1::NormType>(kNone);
}

// The API begins with "unspecified", which our code has no value for.

constexpr v1::WriteAction TwinOf(catalog::WriteAction value) {
  switch (value) {
    case catalog::WriteAction::kRegister:
      return v1::WRITE_ACTION_REGISTER;
    case catalog::WriteAction::kDelete:
      return v1::WRITE_ACTION_DELETE;
    case catalog::WriteAction::kRollback:
      return v1::WRITE_ACTION_ROLLBACK;
  }
  return static_cast<v1::WriteAction>(kNone);
}

constexpr v1::LinearAttentionType TwinOf(LinearAttentionType value) {
  switch (value) {
    case LinearAttentionType::kGatedDeltaNet:
      return v1::LINEAR_ATTENTION_TYPE_GATED_DELTA_NET;
    case LinearAttentionType::kKimiDeltaAttention:
      return v1::LINEAR_ATTENTION_TYPE_KIMI_DELTA_ATTENTION;
    case LinearAttentionType::kMamba2:
      return v1::LINEAR_ATTENTION_TYPE_MAMBA_2;
  }
  return static_cast<v1::LinearAttentionType>(kNone);
}

constexpr v1::LatencyMetric TwinOf(Metric value) {
  switch (value) {
    case kTtft:
      return v1::LATENCY_METRIC_TTFT;
    case kTpot:
      return v1::LATENCY_METRIC_TPOT;
    case kE2e:
      return v1::LATENCY_METRIC_E2E;
  }
  return static_cast<v1::LatencyMetric>(kNone);
}

// Whether our values from `first` on match the API's from `api_first` to its last one, in order.
template <typename Ours>
constexpr bool AreTwins(Ours first, int api_first, int api_size) {
  for (int api = api_first; api < api_size; ++api) {
    const int ours = static_cast<int>(first) + api - api_first;
    if (TwinOf(static_cast<Ours>(ours)) != api) return false;
  }
  return true;
}

static_assert(AreTwins(Provenance::kUnspecified, v1::PROVENANCE_UNSPECIFIED, v1::Provenance_ARRAYSIZE));
static_assert(AreTwins(Bound::kUnspecified, v1::BOUND_UNSPECIFIED, v1::Bound_ARRAYSIZE));
static_assert(AreTwins(WarningCode::kUnspecified, v1::WARNING_CODE_UNSPECIFIED, v1::WarningCode_ARRAYSIZE));
static_assert(AreTwins(DisaggregationLimit::kUnspecified, v1::DISAGGREGATED_LIMIT_UNSPECIFIED,
                       v1::DisaggregatedLimit_ARRAYSIZE));
static_assert(AreTwins(Method::kBestAvailable, v1::METHOD_UNSPECIFIED, v1::Method_ARRAYSIZE));
static_assert(AreTwins(Dtype::kUnspecified, v1::DTYPE_UNSPECIFIED, v1::Dtype_ARRAYSIZE));
static_assert(AreTwins(Reason::kUnspecified, v1::REASON_UNSPECIFIED, v1::Reason_ARRAYSIZE));
static_assert(AreTwins(SolveFor::kUnspecified, v1::SOLVE_FOR_UNSPECIFIED, v1::SolveFor_ARRAYSIZE));
static_assert(AreTwins(Constraint::kUnspecified, v1::CONSTRAINT_UNSPECIFIED, v1::Constraint_ARRAYSIZE));
static_assert(AreTwins(QkNorm::kNone, v1::QK_NORM_UNSPECIFIED, v1::QkNorm_ARRAYSIZE));
static_assert(AreTwins(BatchingPolicy::kStatic, v1::BATCHING_POLICY_STATIC, v1::BatchingPolicy_ARRAYSIZE));
static_assert(AreTwins(KvCacheMode::kCached, v1::KV_CACHE_MODE_CACHED, v1::KvCacheMode_ARRAYSIZE));
static_assert(AreTwins(CapacityPolicy::kRefuse, v1::CAPACITY_POLICY_REFUSE, v1::CapacityPolicy_ARRAYSIZE));
static_assert(AreTwins(ExpertRouting::kIndependent, v1::EXPERT_ROUTING_INDEPENDENT, v1::ExpertRouting_ARRAYSIZE));
static_assert(AreTwins(AttentionKernel::kFlash, v1::ATTENTION_KERNEL_FLASH, v1::AttentionKernel_ARRAYSIZE));
static_assert(AreTwins(ExpertExchange::kAllGather, v1::EXPERT_EXCHANGE_ALL_GATHER, v1::ExpertExchange_ARRAYSIZE));
static_assert(AreTwins(NormType::kRmsNorm, v1::NORM_TYPE_RMSNORM, v1::NormType_ARRAYSIZE));
static_assert(AreTwins(LinearAttentionType::kGatedDeltaNet, v1::LINEAR_ATTENTION_TYPE_GATED_DELTA_NET,
                       v1::LinearAttentionType_ARRAYSIZE));
static_assert(AreTwins(catalog::WriteAction::kRegister, v1::WRITE_ACTION_REGISTER, v1::WriteAction_ARRAYSIZE));
static_assert(AreTwins(kTtft, v1::LATENCY_METRIC_TTFT, v1::LatencyMetric_ARRAYSIZE));

}  // namespace
}  // namespace foretoken::rpc
