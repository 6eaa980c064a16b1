#include "cli/usage/completion.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace {

std::string replace_all(std::string text, const std::string& from, const std::string& to) {
  for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
  return text;
}

/// Encloses the text in single quotes, as all of these shells read them.
std::string quote(const std::string& text) { return "'" + replace_all(text, "'", "'\\''") + "'"; }

std::string first_sentence(const std::string& text) { return text.substr(0, text.find(". ")); }

std::vector<std::string> names_of(const std::vector<CommandEntry>& commands) {
  std::vector<std::string> names;
  for (const CommandEntry& command : commands) names.push_back(command.name);
  return names;
}

/// Returns the words that arguments may be, of all that a command takes.
std::vector<std::string> choices_of(const CommandEntry& command) {
  std::vector<std::string> choices;
  for (const ArgumentEntry& argument : command.arguments)
    choices.insert(choices.end(), argument.choices.begin(), argument.choices.end());
  return choices;
}

std::vector<std::string> names_of(const std::vector<OptionEntry>& options) {
  std::vector<std::string> names;
  for (const OptionEntry& option : options)
    names.insert(names.end(), option.names.begin(), option.names.end());
  return names;
}

/// Prints the cases, by the command and the previous word, that complete a value. Paths are left to the
/// shell.
std::string bash_values(const std::vector<CommandEntry>& commands) {
  std::string text;
  std::vector<std::string> free;
  for (const CommandEntry& command : commands) {
    for (const OptionEntry& option : command.options) {
      if (option.type.empty() || option.is_path) continue;
      std::vector<std::string> patterns;
      for (const std::string& name : option.names) patterns.push_back(command.name + ":" + name);
      if (option.choices.empty())
        free.insert(free.end(), patterns.begin(), patterns.end());
      else
        text +=
            fmt::format("    {}) words='{}' ;;\n", fmt::join(patterns, "|"), fmt::join(option.choices, " "));
    }
  }
  return text + fmt::format("    {}) compopt +o default 2>/dev/null ;;\n", fmt::join(free, "|"));
}

/// Prints the cases for everything else after a command: its options, and values of its argument.
std::string bash_options(const std::vector<CommandEntry>& commands) {
  std::string text;
  for (const CommandEntry& command : commands)
    text += fmt::format("        {}) options='{}' arguments='{}' ;;\n", command.name,
                        fmt::join(names_of(command.options), " "), fmt::join(choices_of(command), " "));
  return text;
}

/// Prints an option: "'(-o --output)'{-o,--output}'[The program to write]:PROGRAM.so:_files'".
std::string zsh_option(const OptionEntry& option) {
  const auto escape = [](const std::string& text) {
    return replace_all(replace_all(replace_all(text, "[", "\\["), "]", "\\]"), ":", "\\:");
  };
  const std::string choices = fmt::format("({})", fmt::join(option.choices, " "));
  const std::string action = !option.choices.empty() ? choices : option.is_path ? "_files" : " ";
  const std::string value = option.type.empty() ? "" : fmt::format(":{}:{}", escape(option.type), action);
  const std::string meaning = quote("[" + escape(first_sentence(option.description)) + "]" + value);
  const std::string excluded =
      option.is_repeatable ? "'*'" : fmt::format("'({})'", fmt::join(option.names, " "));
  return option.names.size() == 1
             ? fmt::format("{}{}{}", excluded, option.names[0], meaning)
             : fmt::format("{}{{{}}}{}", excluded, fmt::join(option.names, ","), meaning);
}

std::string zsh_argument(size_t number, const ArgumentEntry& argument) {
  return fmt::format(
      "'{}:{}:{}'", number, replace_all(argument.name, ":", "\\:"),
      argument.choices.empty() ? "_files" : fmt::format("({})", fmt::join(argument.choices, " ")));
}

std::string fish_option(const CommandEntry& command, const OptionEntry& option) {
  std::string text = fmt::format("complete -c intarsia -n '__fish_seen_subcommand_from {}'", command.name);
  for (const std::string& name : option.names)
    text += name.rfind("--", 0) == 0 ? " -l " + name.substr(2) : " -s " + name.substr(1);
  if (!option.type.empty()) text += option.is_path ? " -r" : " -x";
  if (!option.choices.empty()) text += fmt::format(" -a '{}'", fmt::join(option.choices, " "));
  return text + " -d " + quote(first_sentence(option.description)) + "\n";
}

}  // namespace

std::string print_bash_completion(const std::vector<CommandEntry>& commands) {
  return fmt::format(R"(# Completes the command intarsia in bash; written by `intarsia completion bash`.
_intarsia() {{
  local word=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD-1]}}
  local command='' words='' options='' arguments='' i
  if [[ $word == '=' ]]; then word=''; elif [[ $before == '=' ]]; then before=${{COMP_WORDS[COMP_CWORD-2]}}; fi
  for ((i = 1; i < COMP_CWORD; ++i)); do
    if [[ ${{COMP_WORDS[i]}} != -* ]]; then command=${{COMP_WORDS[i]}}; break; fi
  done
  case $command:$before in
{0}    :*) words='{1} --help --version' ;;
    *)
      case $command in
{2}      esac
      if [[ $word == -* ]]; then words=$options; else words=$arguments; fi
      ;;
  esac
  COMPREPLY=($(compgen -W "$words" -- "$word"))
}}
complete -o default -F _intarsia intarsia
)",
                     bash_values(commands), fmt::join(names_of(commands), " "), bash_options(commands));
}

std::string print_zsh_completion(const std::vector<CommandEntry>& commands) {
  std::string names, cases;
  for (const CommandEntry& command : commands) {
    names +=
        fmt::format("    {}\n", quote(command.name + ":" + replace_all(command.description, ":", "\\:")));
    cases += fmt::format("    {})\n      _arguments", command.name);
    for (const OptionEntry& option : command.options) cases += " \\\n        " + zsh_option(option);
    for (size_t i = 0; i < command.arguments.size(); ++i)
      cases += fmt::format(" \\\n        {}", zsh_argument(i + 1, command.arguments[i]));
    cases += "\n      ;;\n";
  }
  return fmt::format(R"(#compdef intarsia
# Completes the command intarsia in zsh; written by `intarsia completion zsh`.
_intarsia() {{
  local -a commands=(
{0}  )
  if (( CURRENT == 2 )); then
    _describe command commands
    return
  fi
  shift words
  (( CURRENT-- ))
  case $words[1] in
{1}  esac
}}
if [[ $zsh_eval_context[-1] == loadautofunc ]]; then _intarsia "$@"; else compdef _intarsia intarsia; fi
)",
                     names, cases);
}

std::string print_fish_completion(const std::vector<CommandEntry>& commands) {
  std::string text =
      "# Completes the command intarsia in fish; written by `intarsia completion fish`.\n"
      "complete -c intarsia -n __fish_use_subcommand -f\n";
  for (const CommandEntry& command : commands)
    text += fmt::format("complete -c intarsia -n __fish_use_subcommand -a {} -d {}\n", command.name,
                        quote(command.description));
  for (const CommandEntry& command : commands) {
    for (const OptionEntry& option : command.options) text += fish_option(command, option);
    const std::vector<std::string> choices = choices_of(command);
    const bool takes_files = choices.empty() || command.arguments.size() > 1;
    if (!choices.empty())
      text += fmt::format("complete -c intarsia -n '__fish_seen_subcommand_from {}' {}-a '{}'\n",
                          command.name, takes_files ? "" : "-f ", fmt::join(choices, " "));
  }
  return text;
}
