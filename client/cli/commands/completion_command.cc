// foretoken completion SHELL: a script for the shell that completes commands, flags and ids of the server's catalog.
#include <CLI/CLI.hpp>

#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "client/cli/commands/commands.h"
#include "client/cli/import/trace_format.h"

namespace foretoken::cli {
namespace {

// Ids come from the server, if it answers within a second; aliases where no id begins so. Flags come from --help, so
// that they are never out of date.
constexpr char kBash[] = R"(# Use: source <(foretoken completion bash)
_foretoken_ids() { foretoken list "$1" --ids --timeout 1s 2>/dev/null; }
_foretoken_names() { foretoken list "$1" --names --timeout 1s 2>/dev/null | grep -v ' '; }
_foretoken_kind() { case $1 in model|calibration) echo "$1s" ;; *) echo "$1" ;; esac; }
_foretoken_flags() { foretoken "$@" --help 2>/dev/null | grep -oE -e '--[a-z0-9][a-z0-9-]*'; }
_foretoken() {
  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} command=${COMP_WORDS[1]} words= kind=
  case $prev in
    --model) kind=models ;;
    --hardware) kind=hardware ;;
    --output) words='text json csv' ;;
    --scenario|--samples|--kernels|--baseline|--spec|--out) COMPREPLY=($(compgen -f -- "$cur")); return ;;
  esac
  if [ -z "$words$kind" ]; then
    if [ "$COMP_CWORD" = 1 ]; then words='@COMMANDS@'
    elif [[ $cur == -* ]]; then words=$(_foretoken_flags "$command")
    else
      case $command:$COMP_CWORD in
        solve:2) words='batch rate prompt tp hardware' ;;
        estimate:2|explain:2|compare:2|sweep:2|solve:3) kind=models ;;
        estimate:3|explain:3|sweep:3|solve:4|compare:*) kind=hardware ;;
        list:2) words='hardware models calibrations' ;;
        get:2) words='hardware model calibration' ;;
        delete:2|revisions:2|rollback:2) words='hardware model' ;;
        get:3|delete:3|revisions:3|rollback:3) kind=$(_foretoken_kind $prev) ;;
        completion:2) words='bash zsh fish' ;;
        import:2) words='@FORMATS@' ;;
        validate:*|fit:*|import:*|register-hardware:*|register-model:*) COMPREPLY=($(compgen -f -- "$cur")); return ;;
      esac
    fi
  fi
  [ -n "$kind" ] && words=$(_foretoken_ids $kind)
  COMPREPLY=($(compgen -W "$words" -- "$cur"))
  if [ -n "$kind" ] && [ ${#COMPREPLY[@]} = 0 ]; then
    words=$(_foretoken_names $kind)
    COMPREPLY=($(compgen -W "$words" -- "$cur"))
  fi
}
complete -F _foretoken foretoken
)";

constexpr char kZsh[] = R"(# Use: source <(foretoken completion zsh)
autoload -U +X bashcompinit && bashcompinit
@BASH@)";

constexpr char kFish[] = R"(# Use: foretoken completion fish | source
function __foretoken_ids; foretoken list $argv[1] --names --timeout 1s 2>/dev/null | string match -v '* *'; end
function __foretoken_flags; foretoken $argv[1] --help 2>/dev/null | string match -ra -- '--[a-z0-9][a-z0-9-]*'; end
function __foretoken_at; set -l words (commandline -opc); test (count $words) = $argv[1]; and contains -- $words[2] $argv[2..]; end
complete -c foretoken -f
complete -c foretoken -n __fish_use_subcommand -a '@COMMANDS@'
complete -c foretoken -n '__foretoken_at 2 estimate explain compare sweep' -a '(__foretoken_ids models)'
complete -c foretoken -n '__foretoken_at 3 estimate explain compare sweep' -a '(__foretoken_ids hardware)'
complete -c foretoken -n '__foretoken_at 2 solve' -a 'batch rate prompt tp hardware'
complete -c foretoken -n '__foretoken_at 3 solve' -a '(__foretoken_ids models)'
complete -c foretoken -n '__foretoken_at 4 solve' -a '(__foretoken_ids hardware)'
complete -c foretoken -n '__foretoken_at 2 list' -a 'hardware models calibrations'
complete -c foretoken -n '__foretoken_at 2 get delete revisions rollback' -a 'hardware model'
complete -c foretoken -n '__foretoken_at 2 get' -a 'calibration'
complete -c foretoken -n '__foretoken_at 2 completion' -a 'bash zsh fish'
complete -c foretoken -n '__foretoken_at 2 import' -a '@FORMATS@'
complete -c foretoken -n '__foretoken_at 3 get delete revisions rollback; and contains hardware (commandline -opc)' -a '(__foretoken_ids hardware)'
complete -c foretoken -n '__foretoken_at 3 get delete revisions rollback; and contains model (commandline -opc)' -a '(__foretoken_ids models)'
complete -c foretoken -n '__foretoken_at 3 get; and contains calibration (commandline -opc)' -a '(__foretoken_ids calibrations)'
complete -c foretoken -n '__fish_seen_subcommand_from validate fit import register-hardware register-model' -F
complete -c foretoken -n 'string match -q -- "-*" (commandline -ct)' -a '(__foretoken_flags (commandline -opc)[2])'
)";

std::string Formats() { return absl::StrJoin(ImportNames(), " "); }

std::string Script(const std::string& shell, const std::string& commands) {
  const std::string bash = absl::StrReplaceAll(kBash, {{"@COMMANDS@", commands}, {"@FORMATS@", Formats()}});
  if (shell == "bash") return bash;
  if (shell == "zsh") return absl::StrReplaceAll(kZsh, {{"@BASH@", bash}});
  return absl::StrReplaceAll(kFish, {{"@COMMANDS@", commands}, {"@FORMATS@", Formats()}});
}

}  // namespace

void AddCompletion(CLI::App& app, Action& chosen) {
  CLI::App* command = app.add_subcommand("completion", "A shell script that completes commands, flags and ids");
  command->footer("Use: source <(foretoken completion bash), or add that line to the start file of the shell.");
  auto shell = std::make_shared<std::string>();
  command->add_option("SHELL", *shell, "bash, zsh or fish")->required()->check(CLI::IsMember({"bash", "zsh", "fish"}));
  command->callback([shell, &app, &chosen] {
    std::vector<std::string> names;
    for (const CLI::App* one : app.get_subcommands({})) names.push_back(one->get_name());
    chosen = [script = Script(*shell, absl::StrJoin(names, " "))](const Session& session) -> absl::StatusOr<ExitCode> {
      session.out << script;
      return kOk;
    };
  });
}

}  // namespace foretoken::cli
