// foretoken list hardware|models|calibrations [TEXT]: what the catalog holds.
#include <CLI/CLI.hpp>

#include "absl/strings/str_cat.h"
#include "client/cli/commands/commands.h"
#include "client/cli/scenario/message_file.h"
#include "client/cli/text/csv.h"
#include "client/cli/text/enum_text.h"
#include "client/cli/text/format.h"
#include "client/cli/text/table.h"

namespace foretoken::cli {
namespace {

struct Options {
  std::string kind;
  std::string text;
  bool ids = false;
};

// All pages of a list as one response. `list` is one call.
template <typename Request, typename Response>
absl::StatusOr<Response> AllPages(const std::string& text,
                                  const std::function<absl::StatusOr<Response>(const Request&)>& list) {
  Request request;
  request.set_id_contains(text);
  request.set_page_size(1000);
  Response all;
  do {
    const absl::StatusOr<Response> page = list(request);
    if (!page.ok()) return page.status();
    all.MergeFrom(*page);
    all.set_next_page_token(page->next_page_token());
    request.set_page_token(page->next_page_token());
  } while (!all.next_page_token().empty());
  return all;
}

std::string Origin(v1::EntryOrigin origin) { return EnumText(origin); }

// Of bf16; of fp16 where the device has no bf16.
double Peak(const v1::PeakCompute& peak) {
  if (peak.has_bf16_flops_per_second()) return peak.bf16_flops_per_second();
  return peak.has_fp16_flops_per_second() ? peak.fp16_flops_per_second() : kUnknown;
}

// One entry as cells: scaled for people, exact for CSV.
std::vector<std::string> Cells(const v1::HardwareEntry& entry, bool exact) {
  const v1::HardwareSpec& spec = entry.spec();
  const double capacity =
      spec.has_memory_capacity_bytes() ? static_cast<double>(spec.memory_capacity_bytes()) : kUnknown;
  const double bandwidth =
      spec.has_memory_bandwidth_bytes_per_second() ? spec.memory_bandwidth_bytes_per_second() : kUnknown;
  const double link = spec.has_interconnect_bytes_per_second() ? spec.interconnect_bytes_per_second() : kUnknown;
  return {spec.id(),
          exact ? FormatExact(capacity) : FormatBytes(capacity),
          exact ? FormatExact(bandwidth) : FormatBytesPerSecond(bandwidth),
          exact ? FormatExact(Peak(spec.peak())) : FormatFlopsPerSecond(Peak(spec.peak())),
          exact ? FormatExact(link) : FormatBytesPerSecond(link),
          absl::StrCat(spec.linear_profiles_size()),
          Origin(entry.origin())};
}

std::vector<std::string> Cells(const v1::ModelEntry& entry, bool exact) {
  const v1::ModelSpec& spec = entry.spec();
  const double parameters = spec.has_parameter_count() ? static_cast<double>(spec.parameter_count()) : kUnknown;
  const double context =
      spec.has_max_position_embeddings() ? static_cast<double>(spec.max_position_embeddings()) : kUnknown;
  return {
      spec.id(),
      exact ? FormatExact(parameters) : absl::StrCat(ThreeDigits(parameters / 1e9), std::isnan(parameters) ? "" : " B"),
      absl::StrCat(spec.num_hidden_layers()),
      absl::StrCat(spec.hidden_size()),
      EnumText(spec.attention_type()),
      spec.has_mixture_of_experts() ? absl::StrCat(spec.mixture_of_experts().num_experts())
      : exact                       ? ""
                                    : "dense",
      exact ? FormatExact(context) : FormatCount(context),
      spec.unsupported_reason().empty() ? "yes" : "no",
      Origin(entry.origin())};
}

// The held-out error where it is known, else that of the samples fitted.
std::string ErrorOf(const v1::CalibrationSpec& spec, v1::LatencyMetric metric, bool exact) {
  for (const v1::CalibrationError& error : spec.errors()) {
    if (error.metric() != metric) continue;
    const double ape =
        error.has_cross_validated_median_ape() ? error.cross_validated_median_ape() : error.in_sample_median_ape();
    return exact ? FormatExact(ape) : FormatPercent(ape);
  }
  return exact ? "" : "-";
}

std::vector<std::string> Cells(const v1::CalibrationEntry& entry, bool exact) {
  const v1::CalibrationSpec& spec = entry.spec();
  return {spec.id(),
          spec.hardware_id().empty() && !exact ? "any" : spec.hardware_id(),
          spec.engine(),
          spec.model_id().empty() && !exact ? "any" : spec.model_id(),
          spec.continuous() ? "continuous" : "static",
          absl::StrCat(spec.samples_used()),
          ErrorOf(spec, v1::LATENCY_METRIC_TTFT, exact),
          ErrorOf(spec, v1::LATENCY_METRIC_TPOT, exact),
          ErrorOf(spec, v1::LATENCY_METRIC_E2E, exact),
          Origin(entry.origin())};
}

const std::vector<Column>& Columns(const v1::CalibrationEntry&) {
  static const auto& columns = *new std::vector<Column>{{"id"},
                                                        {"hardware"},
                                                        {"engine"},
                                                        {"model"},
                                                        {"batching"},
                                                        {"samples", Align::kRight},
                                                        {"TTFT error", Align::kRight},
                                                        {"TPOT error", Align::kRight},
                                                        {"E2E error", Align::kRight},
                                                        {"origin"}};
  return columns;
}

std::string CsvHeader(const v1::CalibrationEntry&) {
  return "id,hardware_id,engine,model_id,batching,samples_used,ttft_median_ape,tpot_median_ape,e2e_median_ape,origin\n";
}

const std::vector<Column>& Columns(const v1::HardwareEntry&) {
  static const auto& columns = *new std::vector<Column>{{"id"},
                                                        {"memory", Align::kRight},
                                                        {"bandwidth", Align::kRight},
                                                        {"16-bit peak", Align::kRight},
                                                        {"link", Align::kRight},
                                                        {"profiles", Align::kRight},
                                                        {"origin"}};
  return columns;
}

const std::vector<Column>& Columns(const v1::ModelEntry&) {
  static const auto& columns = *new std::vector<Column>{
      {"id"},        {"parameters", Align::kRight}, {"layers", Align::kRight},  {"hidden", Align::kRight},
      {"attention"}, {"experts", Align::kRight},    {"context", Align::kRight}, {"supported"},
      {"origin"}};
  return columns;
}

std::string CsvHeader(const v1::HardwareEntry&) {
  return "id,memory_capacity_bytes,memory_bandwidth_bytes_per_second,peak_16bit_flops_per_second,"
         "interconnect_bytes_per_second,linear_profiles,origin\n";
}

std::string CsvHeader(const v1::ModelEntry&) {
  return "id,parameter_count,num_hidden_layers,hidden_size,attention_type,num_experts,max_position_embeddings,"
         "supported,origin\n";
}

template <typename Entries>
void PrintCsv(const Entries& entries, std::ostream& out) {
  out << CsvHeader(typename Entries::value_type());
  for (const auto& entry : entries) out << CsvLine(Cells(entry, true));
}

template <typename Entries>
void PrintTable(const Entries& entries, const Session& session) {
  Table table(Columns(typename Entries::value_type()));
  for (const auto& entry : entries) {
    const std::vector<std::string> cells = Cells(entry, false);
    table.AddRow({cells.begin(), cells.end()});
  }
  if (!table.empty()) session.out << table.Render(session.terminal);
}

template <typename Response>
absl::StatusOr<ExitCode> Print(const absl::StatusOr<Response>& response, const Options& options,
                               const Session& session) {
  if (!response.ok()) return response.status();
  const auto& entries = response->entries();
  if (options.ids) {
    for (const auto& entry : entries) session.out << client::Printable(entry.spec().id()) << "\n";
  } else if (session.output == OutputFormat::kJson) {
    session.out << ToJson(*response);
  } else if (session.output == OutputFormat::kCsv) {
    PrintCsv(entries, session.out);
  } else {
    PrintTable(entries, session);
  }
  return entries.empty() ? kNo : kOk;
}

absl::StatusOr<ExitCode> Run(const Options& options, const Session& session) {
  if (options.kind == "hardware") {
    const auto all = AllPages<v1::ListHardwareRequest, v1::ListHardwareResponse>(
        options.text, [&](const v1::ListHardwareRequest& request) { return session.client.ListHardware(request); });
    return Print(all, options, session);
  }
  if (options.kind == "calibrations") {
    const auto all = AllPages<v1::ListCalibrationsRequest, v1::ListCalibrationsResponse>(
        options.text, [&](const auto& request) { return session.client.ListCalibrations(request); });
    return Print(all, options, session);
  }
  const auto all = AllPages<v1::ListModelsRequest, v1::ListModelsResponse>(
      options.text, [&](const v1::ListModelsRequest& request) { return session.client.ListModels(request); });
  return Print(all, options, session);
}

}  // namespace

void AddList(CLI::App& app, Action& chosen) {
  CLI::App* command = app.add_subcommand("list", "Hardware, models or calibrations of the catalog");
  command->footer("Exit 1: no entry matches.");
  auto options = std::make_shared<Options>();
  command->add_option("KIND", options->kind, "hardware, models or calibrations")
      ->required()
      ->check(CLI::IsMember({"hardware", "models", "calibrations"}));
  command->add_option("TEXT", options->text, "Only ids that contain this text");
  command->add_flag("--ids", options->ids, "Ids alone, one a line");
  command->callback([options, &chosen] { chosen = [options](const Session& s) { return Run(*options, s); }; });
}

}  // namespace foretoken::cli
