#include "client/cli/scenario/usage_error.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <string_view>

#include "absl/strings/strip.h"
#include "client/cli/scenario/scenario_flags.h"
#include "client/printable.h"

namespace foretoken::cli {
namespace {

constexpr size_t kMostEdits = 2;

// Letters to insert, delete or replace.
size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t replaced = diagonal + (a[i - 1] != b[j - 1]);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, replaced});
    }
  }
  return row.back();
}

// " (did you mean NAME?)", or nothing. `guess` is used if no known name is close.
std::string DidYouMean(const std::string& given, const std::vector<std::string>& known, const std::string& guess = "") {
  size_t fewest = kMostEdits + 1;
  std::string closest = guess;
  for (const std::string& name : known) {
    const size_t edits = EditDistance(given, name);
    if (edits >= fewest) continue;
    fewest = edits;
    closest = name;
  }
  return closest.empty() ? "" : absl::StrCat(" (did you mean ", closest, "?)");
}

std::vector<std::string> CommandsOf(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    names.push_back(command->get_name());
  }
  return names;
}

void AddFlags(const CLI::App& app, std::vector<std::string>& names) {
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
}

// " (did you mean --tp?)" of --tpp and of --tensor-parallel=8, which is the field's name, where --tp is known.
std::string FlagMeant(const std::string& given, const std::vector<std::string>& known) {
  const std::string name = given.substr(0, given.find('='));
  const std::optional<ScenarioFlag> flag = FindScenarioFlag(std::string(absl::StripPrefix(name, "--")));
  const bool takes_it = flag && std::find(known.begin(), known.end(), flag->name) != known.end();
  return DidYouMean(name, known, takes_it ? flag->name : "");
}

[[noreturn]] void RefuseEmpty(const std::string& name) {
  throw CLI::ValidationError(name, "\"\"; allowed: a value that is not empty");
}

void CheckOption(const CLI::Option& option) {
  const std::vector<std::string>& values = option.results();
  if (std::find(values.begin(), values.end(), "") != values.end()) RefuseEmpty(option.get_name());
  const bool by_place_or_flag = option.get_positional() && !option.get_lnames().empty();
  const bool takes_one = option.get_multi_option_policy() == CLI::MultiOptionPolicy::TakeLast;
  if (!by_place_or_flag || !takes_one) return;
  for (const std::string& value : values) {
    if (value == values.front()) continue;
    throw CLI::ValidationError(option.get_name(),
                               absl::StrCat("\"", values.front(), "\" and \"", value, "\"; allowed: one"));
  }
}

}  // namespace

void CheckNoEmptyValue(const std::vector<std::string>& arguments) {
  for (const std::string& argument : arguments) {
    if (argument == "--") return;
    const bool is_flag = argument.starts_with("--");
    if (is_flag && argument.find('=') == argument.size() - 1) RefuseEmpty(argument.substr(0, argument.size() - 1));
  }
}

void CheckResults(const CLI::App& app) {
  for (const CLI::Option* option : app.get_options()) CheckOption(*option);
  for (const CLI::App* command : app.get_subcommands()) CheckResults(*command);
}

std::string UsageError(const CLI::App* app, const CLI::Error& error) {
  const std::vector<CLI::App*> chosen = app->get_subcommands();
  const std::vector<std::string> rest = app->remaining(/*recurse=*/true);
  const auto flag =
      std::find_if(rest.begin(), rest.end(), [](const std::string& text) { return text.starts_with("-"); });
  const bool extra = error.get_exit_code() == static_cast<int>(CLI::ExitCodes::ExtrasError);
  std::string what = error.what();
  if (chosen.empty() && !rest.empty()) {
    what = absl::StrCat("unknown command \"", rest.front(), "\"", DidYouMean(rest.front(), CommandsOf(*app)));
  } else if (extra && flag != rest.end()) {
    std::vector<std::string> known;
    AddFlags(*app, known);
    for (const CLI::App* command : chosen) AddFlags(*command, known);
    what = absl::StrCat("unknown flag ", *flag, FlagMeant(*flag, known));
  }
  const std::string command = chosen.empty() ? "" : absl::StrCat(" ", chosen.front()->get_name());
  return absl::StrCat("foretoken: ", client::Printable(what), "; foretoken", command,
                      " --help lists what is allowed\n");
}

}  // namespace foretoken::cli
