#include "estimator/methods/slo.h"

#include <algorithm>
#include <optional>

namespace foretoken {

SloVerdict JudgeSlo(const Slo& slo, Seconds ttft, Seconds tpot, Seconds e2e) {
  SloVerdict verdict;
  const auto bound = [&verdict](const std::optional<Seconds>& allowed, Seconds estimate) {
    if (!allowed) return;
    const double left = (*allowed - estimate) / *allowed;
    verdict.headroom = std::min(verdict.headroom.value_or(left), left);
  };
  bound(slo.max_ttft, ttft);
  bound(slo.max_tpot, tpot);
  bound(slo.max_e2e, e2e);
  if (verdict.headroom) verdict.verdict = *verdict.headroom >= 0 ? Verdict::kFeasible : Verdict::kInfeasible;
  return verdict;
}

}  // namespace foretoken
