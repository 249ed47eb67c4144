#include "client/cli/scenario/simulation_flags.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <sstream>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "client/cli/scenario/field_path.h"
#include "client/cli/scenario/message_file.h"
#include "client/cli/text/csv.h"
#include "client/cli/text/enum_text.h"

namespace foretoken::cli {
namespace {

constexpr const char* kSimulationGroup = "Simulation";

struct SimulationFlag {
  const char* name;
  const char* path;
  const char* help;
};

constexpr SimulationFlag kSimulationFlags[] = {
    {"--requests", "requests", "Requests to count; default: 2000"},
    {"--warmup", "warmup_requests", "Requests that end before counting begins"},
    {"--whole-run", "whole_run", "Count from the first arrival to the last token, as a benchmark; else a steady state"},
    {"--staggered", "closed_loop.staggered", "Closed loop: spread the first requests, not all at once"},
    {"--arrival-cv", "open_loop.coefficient_of_variation",
     "Request rate: coefficient of variation of the gaps; default: 1, Poisson; above 1 bursts"},
    {"--kv-tokens", "scheduler.kv_tokens", "KV cache of a replica, tokens; default: what memory holds"},
    {"--block-tokens", "scheduler.kv_block_tokens", "Tokens of a block of the KV cache"},
    {"--mixed-chunk", "scheduler.mixed_chunk", "Prefill first: decodes run in the steps of prompts too"},
    {"--chunked-prompt", "scheduler.chunked_prompt", "In flight: prompts are cut to the token budget"},
    {"--max-utilization", "scheduler.max_utilization",
     "In flight: memory is taken as it is used, requests are evicted"},
    {"--seed", "seed", "Start of the random numbers; default: 1"},
    {"--max-steps", "max_steps", "Steps after which the simulation ends; default: 1000000"},
    {"--relative-error", "relative_error", "End early once mean and p90 are known this well, 0.0001 to 1"}};

const google::protobuf::FieldDescriptor& SimulationField(const SimulationFlag& flag) {
  return *FindField(*v1::Simulation::descriptor(), flag.path);
}

const char* SimulationKind(const google::protobuf::FieldDescriptor& field) {
  if (field.cpp_type() == google::protobuf::FieldDescriptor::CPPTYPE_ENUM) return "NAME";
  return field.cpp_type() == google::protobuf::FieldDescriptor::CPPTYPE_DOUBLE ? "NUMBER" : "INT";
}

absl::Status NotLengths(std::string_view text) {
  return absl::InvalidArgumentError(absl::StrCat("\"", std::string(text),
                                                 "\"; allowed: TOKENS, LOW..HIGH, MEAN:CV or "
                                                 "MEAN:CV:MAX"));
}

// The places of the columns in the header.
absl::StatusOr<std::array<size_t, 3>> FindTraceColumns(const std::vector<std::string>& header,
                                                       const std::string& file) {
  constexpr std::array<const char*, 3> kColumns = {"arrival_seconds", "prompt_tokens", "output_tokens"};
  std::array<size_t, 3> places{};
  for (size_t i = 0; i < kColumns.size(); ++i) {
    const auto found = std::find(header.begin(), header.end(), kColumns[i]);
    if (found == header.end()) {
      return absl::InvalidArgumentError(absl::StrCat(file, ":1: column ", kColumns[i],
                                                     " is missing; a trace has "
                                                     "arrival_seconds, prompt_tokens, "
                                                     "output_tokens"));
    }
    places[i] = static_cast<size_t>(found - header.begin());
  }
  return places;
}

absl::Status ReadTraceRow(const CsvRecord& record, const std::array<size_t, 3>& places, v1::Simulation::Trace& trace) {
  if (absl::Status quotes = CheckQuotes(record); !quotes.ok()) return quotes;
  v1::Simulation::Trace::Request& request = *trace.add_requests();
  constexpr std::array<const char*, 3> kFields = {"arrival_seconds", "prompt_tokens", "output_tokens"};
  for (size_t i = 0; i < places.size(); ++i) {
    const std::string cell = places[i] < record.cells.size() ? record.cells[places[i]] : "";
    if (absl::Status set = SetField(request, kFields[i], cell); !set.ok()) {
      return absl::InvalidArgumentError(absl::StrCat(kFields[i], ": ", set.message()));
    }
  }
  return absl::OkStatus();
}

absl::Status SetLengths(const char* flag, const std::string& text, v1::LengthDistribution* lengths) {
  const absl::StatusOr<v1::LengthDistribution> parsed = ParseLengths(text);
  if (!parsed.ok()) return absl::InvalidArgumentError(absl::StrCat(flag, ": ", parsed.status().message()));
  *lengths = *parsed;
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<v1::LengthDistribution> ParseLengths(std::string_view given) {
  const absl::string_view text(given.data(), given.size());
  v1::LengthDistribution lengths;
  const std::vector<std::string> ends = absl::StrSplit(text, "..");
  int low = 0;
  int high = 0;
  if (ends.size() == 2) {
    if (!absl::SimpleAtoi(ends[0], &low) || !absl::SimpleAtoi(ends[1], &high)) return NotLengths(given);
    lengths.mutable_uniform()->set_low_tokens(low);
    lengths.mutable_uniform()->set_high_tokens(high);
    return lengths;
  }
  const std::vector<std::string> parts = absl::StrSplit(text, ':');
  if (parts.size() == 1) {
    if (!absl::SimpleAtoi(parts[0], &low)) return NotLengths(given);
    lengths.set_fixed_tokens(low);
    return lengths;
  }
  double mean = 0;
  double cv = 0;
  if (parts.size() > 3 || !absl::SimpleAtod(parts[0], &mean) || !absl::SimpleAtod(parts[1], &cv)) {
    return NotLengths(given);
  }
  lengths.mutable_log_normal()->set_mean_tokens(mean);
  lengths.mutable_log_normal()->set_coefficient_of_variation(cv);
  if (parts.size() == 2) return lengths;
  if (!absl::SimpleAtoi(parts[2], &high)) return NotLengths(given);
  lengths.mutable_log_normal()->set_max_tokens(high);
  return lengths;
}

absl::StatusOr<v1::Simulation::Trace> ReadTrace(const std::string& text, const std::string& file) {
  std::istringstream in(text);
  CsvReader reader(in);
  const std::optional<CsvRecord> header = reader.Next();
  if (!header) return absl::InvalidArgumentError(absl::StrCat(file, ": is empty; a header line is needed"));
  const absl::StatusOr<std::array<size_t, 3>> places = FindTraceColumns(header->cells, file);
  if (!places.ok()) return places.status();
  v1::Simulation::Trace trace;
  while (const std::optional<CsvRecord> record = reader.Next()) {
    if (absl::Status read = ReadTraceRow(*record, *places, trace); !read.ok()) {
      return absl::InvalidArgumentError(absl::StrCat(file, ":", record->line, ": ", read.message()));
    }
  }
  return trace;
}

void SimulationFlags::AddTo(CLI::App& command) {
  for (const SimulationFlag& flag : kSimulationFlags) {
    const google::protobuf::FieldDescriptor& field = SimulationField(flag);
    std::string help = flag.help;
    if (field.enum_type() != nullptr) absl::StrAppend(&help, ": ", EnumChoices(*field.enum_type()));
    std::string& text = texts_[flag.path];
    const bool is_switch = field.cpp_type() == google::protobuf::FieldDescriptor::CPPTYPE_BOOL;
    CLI::Option* option = is_switch ? command.add_flag(flag.name, text, help)
                                    : command.add_option(flag.name, text, help)->type_name(SimulationKind(field));
    option->group(kSimulationGroup)->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  }
  const char* lengths = "TOKENS, LOW..HIGH, MEAN:CV (log-normal) or MEAN:CV:MAX";
  command.add_option("--prompt-lengths", prompts_, absl::StrCat("Prompt lengths: ", lengths, "; default: --prompt"))
      ->type_name("LENGTHS")
      ->group(kSimulationGroup);
  command
      .add_option("--output-lengths", outputs_, absl::StrCat("Output lengths: ", lengths, "; default: --output-tokens"))
      ->type_name("LENGTHS")
      ->group(kSimulationGroup);
  command
      .add_option("--trace", trace_,
                  "Requests from a CSV: arrival_seconds, prompt_tokens, output_tokens; - for standard input")
      ->type_name("FILE")
      ->group(kSimulationGroup);
}

absl::StatusOr<v1::Simulation> SimulationFlags::Build(std::istream& in) const {
  v1::Simulation simulation;
  for (const SimulationFlag& flag : kSimulationFlags) {
    const std::string& text = texts_.at(flag.path);
    if (text.empty()) continue;
    const v1::Simulation::ArrivalsCase before = simulation.arrivals_case();
    if (absl::Status set = SetField(simulation, flag.path, text); !set.ok()) {
      return absl::InvalidArgumentError(absl::StrCat(flag.name, ": ", set.message()));
    }
    if (before != v1::Simulation::ARRIVALS_NOT_SET && before != simulation.arrivals_case()) {
      return absl::InvalidArgumentError("--staggered and --arrival-cv are given; allowed one of them");
    }
  }
  if (!prompts_.empty()) {
    absl::Status set = SetLengths("--prompt-lengths", prompts_, simulation.mutable_prompt_lengths());
    if (!set.ok()) return set;
  }
  if (!outputs_.empty()) {
    absl::Status set = SetLengths("--output-lengths", outputs_, simulation.mutable_output_lengths());
    if (!set.ok()) return set;
  }
  if (trace_.empty()) return simulation;
  const absl::StatusOr<std::string> text = ReadText(trace_, in);
  if (!text.ok()) return text.status();
  absl::StatusOr<v1::Simulation::Trace> trace = ReadTrace(*text, trace_);
  if (!trace.ok()) return trace.status();
  *simulation.mutable_trace() = *std::move(trace);
  return simulation;
}

}  // namespace foretoken::cli
