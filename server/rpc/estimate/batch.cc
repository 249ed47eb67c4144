// AnswerBatch: candidates of one base scenario, and their ranking.
#include <algorithm>
#include <array>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "estimator/base/errors.h"
#include "estimator/serving/coverage.h"
#include "server/catalog/spec/field_checker.h"
#include "server/rpc/estimate/answer.h"
#include "server/rpc/estimate/estimator_api.h"
#include "server/rpc/estimate/scenario_reader.h"
#include "server/rpc/estimate/scenario_resolver.h"
#include "server/rpc/wire/status.h"

namespace foretoken::rpc {
namespace {

constexpr std::string_view kBase = "base.";
constexpr int kBetweenLooks = 16;  // candidates; to ask whether the caller is there takes a lock

void CheckIds(const v1::BatchEstimateRequest& request, catalog::FieldChecker& fields) {
  absl::flat_hash_map<std::string, int> seen;
  for (int i = 0; i < request.candidates_size(); ++i) {
    const std::string& id = request.candidates(i).candidate_id();
    if (id.empty()) continue;
    const auto [first, inserted] = seen.emplace(id, i);
    if (inserted) continue;
    fields.Add(
        absl::StrCat("candidates[", i, "].candidate_id"),
        absl::StrCat("candidate_id ", catalog::Quoted(id), " was given to candidates[", first->second, "] already"));
  }
}

absl::Status CheckRequest(const v1::BatchEstimateRequest& request) {
  if (request.candidates_size() > kMaxCandidates) {
    return Refusal(Reason::kLimitExceeded, "candidates",
                   absl::StrCat(request.candidates_size(), " candidates; allowed 1 to ", kMaxCandidates));
  }
  std::vector<FieldViolation> violations;
  catalog::FieldChecker fields("", violations);
  if (!request.has_base()) fields.Required("base");
  if (request.candidates().empty()) {
    fields.Add("candidates", absl::StrCat("0 candidates; allowed 1 to ", kMaxCandidates));
  }
  fields.Enum("rank_by", request.rank_by(), v1::RankBy_MAX);
  CheckIds(request, fields);
  return InvalidFields(violations);
}

bool Sets(const v1::Candidate& candidate, Part part) {
  switch (part) {
    case Part::kHardware:
      return candidate.hardware_case() != v1::Candidate::HARDWARE_NOT_SET;
    case Part::kDeployment:
      return candidate.has_deployment();
    case Part::kWorkload:
      return candidate.has_workload();
    case Part::kLiveLoad:
      return candidate.has_live_load();
    case Part::kSlo:
      return candidate.has_slo();
    default:
      return false;
  }
}

void ReadPart(Part part, const v1::Candidate& candidate, std::string_view prefix, ScenarioReader& reader) {
  switch (part) {
    case Part::kHardware:
      return candidate.has_hardware_id() ? reader.ReadHardwareId(candidate.hardware_id(), prefix)
                                         : reader.ReadHardwareSpec(candidate.hardware_spec(), prefix);
    case Part::kDeployment:
      return reader.ReadDeployment(candidate.deployment(), prefix);
    case Part::kWorkload:
      return reader.ReadWorkload(candidate.workload(), prefix);
    case Part::kLiveLoad:
      return reader.ReadLiveLoad(candidate.live_load(), prefix);
    case Part::kSlo:
      return reader.ReadSlo(candidate.slo(), prefix);
    default:
      return;
  }
}

// Reads a candidate over the base, with `prefix` before the paths of the parts that the candidate sets. `replaced`: the
// parts that the reader has from the candidate before.
void ReadCandidate(const v1::Scenario& base, const v1::Candidate& candidate, std::string_view prefix,
                   std::array<bool, kNumParts>& replaced, ScenarioReader& reader) {
  for (int i = 0; i < kNumParts; ++i) {
    const Part part = static_cast<Part>(i);
    const bool sets = Sets(candidate, part);
    if (sets) {
      ReadPart(part, candidate, prefix, reader);
    } else if (replaced[i]) {
      reader.ReadPart(part, base, kBase);
    }
    replaced[i] = sets;
  }
}

bool AnyLoad(const v1::BatchEstimateRequest& request) {
  return request.base().has_live_load() ||
         std::any_of(request.candidates().begin(), request.candidates().end(),
                     [](const v1::Candidate& candidate) { return candidate.has_live_load(); });
}

// Reads candidates one after the other. A replica that is idle beside others that have a live load serves continuously
// as they do, and not a static batch: one ranking compares replicas of one kind.
class CandidateReader {
 public:
  CandidateReader(const v1::BatchEstimateRequest& request, ScenarioReader& reader)
      : request_(request), any_load_(AnyLoad(request)), reader_(reader) {
    reader.ReadAll(request.base(), kBase);
  }

  void Read(int index) {
    Workload& workload = reader_.parts().scenario.workload;
    if (made_continuous_) workload.batching = BatchingPolicy::kStatic;
    prefix_ = absl::StrCat("candidates[", index, "].");
    ReadCandidate(request_.base(), request_.candidates(index), prefix_, replaced_, reader_);
    const std::optional<LiveLoad>& load = reader_.parts().scenario.live_load;
    const bool idle = !load || IsIdle(*load);
    made_continuous_ = any_load_ && idle && workload.batching == BatchingPolicy::kStatic;
    if (!made_continuous_) return;
    workload.batching = BatchingPolicy::kContinuous;
    made_continuous_ = Covers(reader_.parts().scenario, Scope::kClosedLoop);
    if (!made_continuous_) workload.batching = BatchingPolicy::kStatic;
  }

 private:
  const v1::BatchEstimateRequest& request_;
  const bool any_load_;
  ScenarioReader& reader_;
  std::string prefix_;  // of the paths in what the reader finds wrong
  std::array<bool, kNumParts> replaced_ = {};
  bool made_continuous_ = false;
};

// What a result is ranked by, lowest first, and what decides between equal ones.
struct Rank {
  double first = 0;
  double second = 0;
  auto operator<=>(const Rank&) const = default;
};

constexpr double kLast = std::numeric_limits<double>::max();

// A figure of which the largest is best; one that is not known is last.
double Largest(bool known, double figure) { return known ? -figure : kLast; }

Rank RankOf(const v1::CandidateResult& result, v1::RankBy rank_by) {
  constexpr Rank kNone = {.first = std::numeric_limits<double>::infinity()};
  if (!result.has_estimate()) return kNone;
  const v1::Estimate& estimate = result.estimate();
  const v1::SloVerdict& slo = estimate.slo_verdict();
  const double headroom = Largest(slo.has_headroom(), slo.headroom());
  switch (rank_by) {
    case v1::RANK_BY_TTFT:
      return {estimate.ttft().seconds()};
    case v1::RANK_BY_TPOT:
      return {estimate.tpot().seconds()};
    case v1::RANK_BY_E2E:
      return {estimate.e2e().seconds()};
    case v1::RANK_BY_SLO_HEADROOM:
      return {headroom};
    case v1::RANK_BY_SLO_PROBABILITY:
      return {Largest(slo.has_probability(), slo.probability()), headroom};
    default:
      return kNone;
  }
}

void WriteRanking(v1::RankBy rank_by, v1::BatchEstimateResponse& response) {
  if (rank_by == v1::RANK_BY_UNSPECIFIED) return;
  std::vector<Rank> ranks;
  for (const v1::CandidateResult& result : response.results()) ranks.push_back(RankOf(result, rank_by));
  response.mutable_ranking()->Resize(static_cast<int>(ranks.size()), 0);
  auto* ranking = response.mutable_ranking()->mutable_data();
  std::iota(ranking, ranking + ranks.size(), 0);
  std::stable_sort(ranking, ranking + ranks.size(), [&ranks](int a, int b) { return ranks[a] < ranks[b]; });
}

// The most steps of simulations that a candidate may take.
double MostSimulatedSteps(const v1::BatchEstimateRequest& request) {
  double most = SimulatedSteps(request.base().slo());
  for (const v1::Candidate& candidate : request.candidates()) most = std::max(most, SimulatedSteps(candidate.slo()));
  return most;
}

// The mean CPU time of a candidate.
Seconds MeanCpuTime(const v1::BatchEstimateRequest& request, const Moment& moment) {
  ScenarioReader reader(moment.snapshot, moment.now);
  ScenarioResolver resolver(reader, moment.snapshot);
  CandidateReader candidates(request, reader);
  Seconds sum;
  for (int i = 0; i < request.candidates_size(); ++i) {
    candidates.Read(i);
    const absl::StatusOr<const Scenario*> scenario = resolver.Resolve();
    sum += CpuTimeWithReading(scenario.ok() ? *scenario : nullptr);
  }
  return sum / request.candidates_size();
}

}  // namespace

absl::Status AnswerBatch(const v1::BatchEstimateRequest& request, const Moment& moment, Cancelled cancelled,
                         v1::BatchEstimateResponse& response) {
  if (absl::Status status = CheckRequest(request); !status.ok()) return status;
  absl::Status affordable = CheckCpu("candidates", request.candidates_size(), MostSimulatedSteps(request), "candidates",
                                     moment.max_cpu, [&] { return MeanCpuTime(request, moment); });
  if (!affordable.ok()) return affordable;
  ScenarioReader reader(moment.snapshot, moment.now);
  ScenarioEstimator estimator(reader, moment.snapshot);
  CandidateReader candidates(request, reader);
  Estimate estimate;
  response.mutable_results()->Reserve(request.candidates_size());
  for (int i = 0; i < request.candidates_size(); ++i) {
    if (i % kBetweenLooks == 0 && cancelled()) {
      return absl::CancelledError(absl::StrCat("the caller gave up after ", i, " candidates"));
    }
    candidates.Read(i);
    v1::CandidateResult* result = response.add_results();
    if (const std::string& id = request.candidates(i).candidate_id(); !id.empty()) result->set_candidate_id(id);
    const absl::Status status = Answer(estimator, moment, Detail(), estimate, *result->mutable_estimate());
    if (!status.ok()) *result->mutable_status() = ToRpcStatus(status);
  }
  WriteRanking(request.rank_by(), response);
  *response.mutable_catalog_revision() = moment.snapshot.revision();
  return absl::OkStatus();
}

}  // namespace foretoken::rpc
