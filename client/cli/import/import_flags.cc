#include "client/cli/import/import_flags.h"

#include <google/protobuf/text_format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <set>
#include <sstream>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "client/cli/scenario/field_path.h"
#include "client/cli/validation/measurement_writer.h"

namespace foretoken::cli {
namespace {

struct FieldFlag {
  const char* names;
  const char* path;  // in ProfileSample
  const char* type;
  const char* help;
};

constexpr FieldFlag kFieldFlags[] = {
    {"--tp", "deployment.tensor_parallel", "N", "Tensor parallel degree"},
    {"--pp", "deployment.pipeline_parallel", "N", "Pipeline parallel degree; default: 1"},
    {"--ep", "deployment.expert_parallel", "N", "Expert parallel degree; default: 1"},
    {"--dp", "deployment.data_parallel", "N", "Data parallel degree; default: 1"},
    {"--weight-dtype", "deployment.weight_dtype", "DTYPE", "Dtype of the weights"},
    {"--activation-dtype", "deployment.activation_dtype", "DTYPE", "Dtype of the activations; default: blank"},
    {"--kv-dtype", "deployment.kv_cache_dtype", "DTYPE", "Dtype of the KV cache; default: blank"},
    {"--chunk", "deployment.prefill_chunk_tokens", "N", "Tokens per chunk of chunked prefill"},
    {"--max-running", "deployment.max_num_seqs", "N", "Sequences that the engine runs at once at most"},
    {"--scheduler", "deployment.scheduler", "NAME", "How the engine fills a step; default: as the engine does"},
    {"--memory-utilization", "deployment.memory_utilization", "SHARE", "Share of device memory for the engine"},
    {"-b,--batch", "batch_size", "N", "Sequences of the batch; of a server the requests at once"},
    {"-p,--prompt", "prompt_tokens", "N", "Prompt tokens of each request"},
    {"-o,--output-tokens", "output_tokens", "N", "Output tokens of each request, the first included"},
    {"--prompt-spread", "prompt_spread_tokens", "N", "Tokens that prompts are longer or shorter at most than the mean"},
    {"--output-spread", "output_spread_tokens", "N", "Tokens that outputs are longer or shorter at most than the mean"},
    {"--run-requests", "closed_loop_requests", "N", "Requests of the whole run, of a closed loop"},
    {"--request-rate", "request_rate_per_second", "RATE", "Requests/s that arrived"},
};

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

// "--batch" of "-b,--batch".
std::string LongName(const FieldFlag& flag) {
  const std::vector<std::string> names = absl::StrSplit(flag.names, ',');
  return names.back();
}

// REQUIRES: path names a field.
bool IsSet(const Message& message, absl::string_view path) {
  const std::pair<absl::string_view, absl::string_view> parts = absl::StrSplit(path, absl::MaxSplits('.', 1));
  const FieldDescriptor& field = *message.GetDescriptor()->FindFieldByName(std::string(parts.first));
  if (!message.GetReflection()->HasField(message, &field)) return false;
  return parts.second.empty() || IsSet(message.GetReflection()->GetMessage(message, &field), parts.second);
}

// One run on its way to a measurement, and what is wrong with it.
class Completion {
 public:
  Completion(const ImportedRun& run, const ImportFlags& flags, const std::string& source) : run_(run), flags_(flags) {
    row_.sample = run.sample;
    row_.percentiles = run.percentiles;
    row_.source = absl::StrCat(source, " ", run.place);
  }

  void Complete(const std::string& model_id) {
    row_.hardware_id = flags_.hardware;
    row_.sample.set_model_id(model_id);
    SetFields();
    SetEngine();
    ShortenToMean();
    KeepRequests();
    FindMissing();
  }

  const Measurement& row() const { return row_; }
  // What is wrong, one to a line, without the place; empty: nothing.
  const std::vector<std::string>& faults() const { return faults_; }

 private:
  void SetFields() {
    for (const FieldFlag& flag : kFieldFlags) {
      const auto given = flags_.fields.find(flag.path);
      if (given == flags_.fields.end() || given->second.empty()) continue;
      const v1::ProfileSample before = row_.sample;
      if (absl::Status set = SetField(row_.sample, flag.path, given->second); !set.ok()) {
        faults_.push_back(absl::StrCat(LongName(flag), ": ", set.message()));
      } else if (IsSet(before, flag.path) && before.SerializeAsString() != row_.sample.SerializeAsString()) {
        faults_.push_back(absl::StrCat(LongName(flag), " ", given->second, "; the file says otherwise: ",
                                       Told(before, flag.path), "; --ignore-field reads the file without its field"));
      }
    }
  }

  // "tensor_parallel: 8".
  static std::string Told(const Message& message, absl::string_view path) {
    const std::pair<absl::string_view, absl::string_view> parts = absl::StrSplit(path, absl::MaxSplits('.', 1));
    const FieldDescriptor& field = *message.GetDescriptor()->FindFieldByName(std::string(parts.first));
    if (!parts.second.empty()) return Told(message.GetReflection()->GetMessage(message, &field), parts.second);
    std::string text;
    google::protobuf::TextFormat::PrintFieldValueToString(message, &field, -1, &text);
    return absl::StrCat(field.name(), " ", text);
  }

  void SetEngine() {
    const std::vector<std::string> given = absl::StrSplit(flags_.engine, absl::MaxSplits('@', 1));
    std::string version = given.size() > 1 ? given[1] : "";
    Contradict("--engine", given[0], run_.engine);
    Contradict("--engine", version, run_.engine_version);
    if (version.empty()) version = run_.engine_version;
    const std::string name = given[0].empty() ? run_.engine : given[0];
    if (name.empty() || version.empty()) {
      missing_.push_back("engine and version (--engine NAME@VERSION)");
    } else {
      row_.sample.mutable_deployment()->set_engine(absl::StrCat(name, "@", version));
    }
  }

  void Contradict(const char* flag, const std::string& given, const std::string& told) {
    if (given.empty() || told.empty() || given == told) return;
    faults_.push_back(absl::StrCat(flag, " \"", given, "\"; the file says \"", told,
                                   "\"; --ignore-field reads the file without its field"));
  }

  // Where the file has the longest lengths, and flags say how far lengths lie from their mean.
  void ShortenToMean() {
    if (!run_.lengths_are_longest) return;
    v1::ProfileSample& sample = row_.sample;
    sample.set_prompt_tokens(sample.prompt_tokens() - sample.prompt_spread_tokens());
    sample.set_output_tokens(sample.output_tokens() - sample.output_spread_tokens());
  }

  // The requests of a run matter in a closed loop alone.
  void KeepRequests() {
    v1::ProfileSample& sample = row_.sample;
    const bool given = IsSet(sample, "closed_loop_requests") && !IsSet(run_.sample, "closed_loop_requests");
    if (sample.has_request_rate_per_second() && !given) sample.clear_closed_loop_requests();
    if (!sample.has_closed_loop_requests() || sample.batch_size() <= sample.closed_loop_requests()) return;
    faults_.push_back(
        absl::StrCat(sample.batch_size(), " requests at once; the run has ", sample.closed_loop_requests(), " in all"));
  }

  void FindMissing() {
    const v1::ProfileSample& sample = row_.sample;
    const auto need = [this](bool there, const char* what) {
      if (!there) missing_.push_back(what);
    };
    need(!row_.hardware_id.empty(), "hardware (--hardware ID)");
    need(!sample.model_id().empty(), "model (--model ID)");
    need(sample.deployment().has_tensor_parallel(), "tensor parallel degree (--tp N)");
    need(sample.deployment().weight_dtype() != v1::DTYPE_UNSPECIFIED, "dtype of the weights (--weight-dtype DTYPE)");
    need(sample.batch_size() != 0, "requests at once (--batch N, or --batch 1 --request-rate RATE)");
    need(sample.prompt_tokens() != 0 || run_.without_prompt, "prompt tokens (--prompt N)");
    need(sample.output_tokens() != 0, "output tokens (--output-tokens N)");
    if (!missing_.empty()) faults_.push_back(absl::StrCat("the file does not say: ", absl::StrJoin(missing_, ", ")));
    const bool timed = sample.has_ttft_seconds() || sample.has_tpot_seconds() || sample.has_e2e_seconds();
    if (!timed) faults_.push_back("no mean time to first token, time per output token or end-to-end time");
  }

  const ImportedRun& run_;
  const ImportFlags& flags_;
  Measurement row_;
  std::vector<std::string> missing_;
  std::vector<std::string> faults_;
};

// What runs say of themselves that one flag gives to all of them.
struct Claim {
  const char* what;
  const char* flag;
  std::string ImportedRun::*told;
  bool given;
};

// Runs of two models under one --model would make wrong rows.
std::vector<std::string> MixedClaims(const std::vector<ImportedRun>& runs, const ImportFlags& flags) {
  const auto weights = flags.fields.find("deployment.weight_dtype");
  const Claim claims[] = {
      {"hardware", "--hardware", &ImportedRun::hardware, !flags.hardware.empty()},
      {"model", "--model", &ImportedRun::model, !flags.model.empty()},
      {"engine", "--engine", &ImportedRun::framework, !flags.engine.empty()},
      {"dtype", "--weight-dtype", &ImportedRun::weights, weights != flags.fields.end() && !weights->second.empty()}};
  std::vector<std::string> faults;
  for (const Claim& claim : claims) {
    std::set<std::string> told;
    for (const ImportedRun& run : runs) told.insert(run.*claim.told);
    told.erase("");
    if (!claim.given || told.size() < 2) continue;
    faults.push_back(absl::StrCat(claim.flag, " stands for one ", claim.what, ", and the files have ", told.size(),
                                  ": ", absl::StrJoin(told, ", "), "; import them apart"));
  }
  return faults;
}

// What the reader of measurements says of the row, by the run's place.
std::vector<std::string> OutOfRange(const std::vector<ImportedRun>& runs, const std::vector<Measurement>& rows) {
  std::vector<std::string> faults;
  std::istringstream in(MeasurementsCsv(rows));
  const absl::StatusOr<MeasurementFile> read = ReadMeasurements("rows", in);
  if (!read.ok()) return {std::string(read.status().message())};
  for (size_t i = 0; i < read->rows.size() && i < runs.size(); ++i) {
    const absl::Status& status = read->rows[i].status;
    if (!status.ok()) faults.push_back(absl::StrCat(runs[i].place, ": ", status.message()));
  }
  return faults;
}

absl::Status Reported(std::vector<std::string> faults) {
  if (faults.empty()) return absl::OkStatus();
  const size_t more = faults.size() > kMostImportFaults ? faults.size() - kMostImportFaults : 0;
  faults.resize(faults.size() - more);
  if (more > 0) faults.push_back(absl::StrCat("and ", more, " more"));
  return absl::InvalidArgumentError(absl::StrJoin(faults, "\n"));
}

// Asks for each name once.
class NamedModels {
 public:
  NamedModels(const ImportFlags& flags, const ModelNames& models) : flags_(flags), models_(models) {}

  absl::StatusOr<std::string> IdOf(const ImportedRun& run) {
    if (!flags_.model.empty() || run.model.empty()) return flags_.model;
    const auto known = ids_.find(run.model);
    if (known != ids_.end()) return known->second;
    absl::StatusOr<std::string> id = models_(run.model);
    if (id.ok()) ids_[run.model] = *id;
    return id;
  }

 private:
  const ImportFlags& flags_;
  const ModelNames& models_;
  std::map<std::string, std::string> ids_;
};

}  // namespace

void ImportFlags::AddTo(CLI::App& command) {
  command.add_option("--hardware", hardware, "Hardware of all runs, a catalog id or an alias")->type_name("ID");
  command
      .add_option(
          "--model", model,
          "Model of all runs, a catalog id or an alias; default: as the file calls it, if the server knows the name")
      ->type_name("ID");
  command.add_option("--engine", engine, "Engine and version of all runs, for example vllm@0.12.0")
      ->type_name("NAME@VERSION");
  for (const FieldFlag& flag : kFieldFlags) {
    command.add_option(flag.names, fields[flag.path], flag.help)->type_name(flag.type);
  }
}

bool ImportFlags::AnyGiven() const {
  const bool field = std::any_of(fields.begin(), fields.end(), [](const auto& one) { return !one.second.empty(); });
  return field || !hardware.empty() || !model.empty() || !engine.empty();
}

absl::StatusOr<std::vector<Measurement>> CompleteRuns(const std::vector<ImportedRun>& runs, const ImportFlags& flags,
                                                      const std::string& source, const ModelNames& models) {
  std::vector<std::string> faults = MixedClaims(runs, flags);
  std::vector<Measurement> rows;
  NamedModels names(flags, models);
  for (const ImportedRun& run : runs) {
    const absl::StatusOr<std::string> model = names.IdOf(run);
    if (!model.ok()) return model.status();
    Completion completion(run, flags, source);
    completion.Complete(*model);
    for (const std::string& fault : completion.faults()) faults.push_back(absl::StrCat(run.place, ": ", fault));
    rows.push_back(completion.row());
  }
  if (faults.empty() && !rows.empty()) faults = OutOfRange(runs, rows);
  if (absl::Status status = Reported(std::move(faults)); !status.ok()) return status;
  return rows;
}

}  // namespace foretoken::cli
