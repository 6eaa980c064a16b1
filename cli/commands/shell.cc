// intarsia completion and intarsia manual: files for the shell, which an installation writes.
#include <cstdio>
#include <memory>

#include "cli/commands/commands.h"
#include "cli/usage/completion.h"
#include "cli/usage/manual.h"
#include "cli/usage/usage_error.h"

namespace {

constexpr const char* hidden = "";  // group of commands that help does not show

std::string print_completion(const std::string& shell, const std::vector<CommandEntry>& commands) {
  if (shell == "bash") return print_bash_completion(commands);
  return shell == "zsh" ? print_zsh_completion(commands) : print_fish_completion(commands);
}

/// Prints the manual page of one command or, where `name` is empty, of the whole command line.
std::string print_page(const CLI::App& app, const std::string& name) {
  const std::vector<CommandEntry> commands = list_commands(app);
  if (name.empty()) return print_manual(app, commands);
  for (const CommandEntry& command : commands)
    if (command.name == name) return print_manual(command);
  throw UsageError("manual " + name + ": no such command");
}

}  // namespace

void add_shell_commands(CLI::App& app) {
  auto word = std::make_shared<std::string>();
  CLI::App* completion = app.add_subcommand("completion", "Print a script that completes the command line");
  completion->add_option("shell", *word, "For which shell")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish"}))
      ->type_name("bash|zsh|fish");
  completion->footer(
      "Example: intarsia completion bash > ~/.local/share/bash-completion/completions/intarsia");
  completion->callback(
      [&app, word] { std::fputs(print_completion(*word, list_commands(app)).c_str(), stdout); });
  CLI::App* manual = app.add_subcommand("manual", "Print a manual page")->group(hidden);
  manual->add_option("command", *word, "Of which command (default: of all)")->type_name("COMMAND");
  manual->callback([&app, word] { std::fputs(print_page(app, *word).c_str(), stdout); });
}
