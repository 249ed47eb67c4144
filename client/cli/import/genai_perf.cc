// GenAI-Perf and AIPerf, its successor: metrics with unit, avg and percentiles. Their inter-token latency is
// (request latency - time to first token) / (output tokens - 1) of each request: time per output token.
#include <algorithm>
#include <iterator>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/cli/import/formats.h"
#include "client/cli/import/served_fields.h"

namespace foretoken::cli {
namespace {

struct TimeUnit {
  const char* name;
  double per_second;
};
constexpr TimeUnit kTimeUnits[] = {
    {"ms", kMilliseconds}, {"s", 1}, {"sec", 1}, {"us", kMicroseconds}, {"ns", kNanoseconds}};

void ReadMetric(const std::string& path, const std::string& metric, FieldReader& fields, ImportedRun& run) {
  if (!fields.Has(path)) return;
  const std::string name = fields.Text(path + ".unit");
  const auto* unit =
      std::find_if(std::begin(kTimeUnits), std::end(kTimeUnits), [&](const TimeUnit& one) { return name == one.name; });
  if (unit == std::end(kTimeUnits)) {
    fields.AddFault(path + ".unit", fields.Shown(path + ".unit") + "; allowed: ms, s, sec, us, ns");
    return;
  }
  SetMean(metric, fields.Seconds(path + ".avg", unit->per_second), run);
  for (const int percent : {50, 90, 95, 99}) {
    SetPercentile(metric, percent, fields.Seconds(absl::StrCat(path, ".p", percent), unit->per_second), run);
  }
}

std::optional<double> ReadTokens(const std::string& path, FieldReader& fields) {
  const std::string unit = fields.Text(path + ".unit");
  if (unit != "tokens" && fields.Has(path)) {
    fields.AddFault(path + ".unit", fields.Shown(path + ".unit") + "; allowed: tokens");
  }
  return fields.Positive(path + ".avg");
}

// What both tools write alike.
void ReadMetrics(FieldReader& fields, ImportedRun& run) {
  ReadMetric("time_to_first_token", "ttft", fields, run);
  ReadMetric("inter_token_latency", "tpot", fields, run);
  ReadMetric("request_latency", "e2e", fields, run);
  if (const auto prompt = ReadTokens("input_sequence_length", fields)) {
    run.sample.set_prompt_tokens(WholeTokens(*prompt));
  }
  if (const auto output = ReadTokens("output_sequence_length", fields)) {
    run.sample.set_output_tokens(WholeTokens(*output));
  }
}

// The first of the paths that is there; the last if none is.
std::string FirstOf(const std::vector<std::string>& paths, const FieldReader& fields) {
  for (const std::string& path : paths) {
    if (fields.Has(path)) return path;
  }
  return paths.back();
}

std::optional<int32_t> ReadRequests(FieldReader& fields) {
  fields.Text("request_count.unit");
  return fields.Count("request_count.avg", 1);
}

// The phase that was measured, after a warm-up for example.
std::string ProfilingPhase(FieldReader& fields) {
  const std::string phases = "input_config.phases";
  for (int i = 0; i < fields.Size(phases); ++i) {
    const std::string phase = absl::StrCat(phases, "[", i, "]");
    if (fields.Text(phase + ".name") == "profiling" || fields.Text(phase + ".kind") == "profiling") return phase;
  }
  return "input_config.loadgen";
}

}  // namespace

void ReadGenaiPerf(FieldReader& fields, ImportedRun& run) {
  const std::string config = "input_config.";
  const std::string stimulus = config + "perf_analyzer.stimulus.";
  run.model = fields.Text(FirstOf({config + "model[0]", config + "model_names[0]"}, fields));
  ReadTraffic(FirstOf({stimulus + "request_rate", config + "request_rate"}, fields),
              FirstOf({stimulus + "concurrency", config + "concurrency"}, fields), ReadRequests(fields), fields, run);
  ReadMetrics(fields, run);
}

void ReadAiperf(FieldReader& fields, ImportedRun& run) {
  const std::string phase = ProfilingPhase(fields);
  run.model =
      fields.Text(FirstOf({"input_config.models.items[0].name", "input_config.endpoint.model_names[0]"}, fields));
  ReadTraffic(FirstOf({phase + ".rate", phase + ".request_rate"}, fields), phase + ".concurrency", ReadRequests(fields),
              fields, run);
  ReadMetrics(fields, run);
  fields.MustBeOff("was_cancelled", "the run did not end");
  if (fields.Shown("is_complete") == "false") fields.AddFault("is_complete", "false; the run did not end");
}

}  // namespace foretoken::cli
