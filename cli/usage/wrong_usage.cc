#include "cli/usage/wrong_usage.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

#include "cli/usage/nearest_name.h"
#include "cli/usage/usage_error.h"

namespace {

/// Returns the commands that the help shows.
std::vector<const CLI::App*> commands_of(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App* command) { return !command->get_group().empty(); });
}

/// Finds a command; null if there is none of this name.
const CLI::App* find_command(const CLI::App& app, const std::string& name) {
  for (const CLI::App* command : commands_of(app)) {
    if (command->get_name() == name) return command;
  }
  return nullptr;
}

std::vector<std::string> names_of(const std::vector<const CLI::App*>& commands) {
  std::vector<std::string> names;
  for (const CLI::App* command : commands) names.push_back(command->get_name());
  return names;
}

/// Returns "--output", ...
std::vector<std::string> long_options_of(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

bool has_option(const CLI::App& command, const std::string& name) {
  return command.get_option_no_throw(name) != nullptr;
}

bool is_option(const std::string& word) { return word.size() > 1 && word[0] == '-' && word != "--"; }

/// Returns "--output" for "--output=x.so".
std::string name_of_option(const std::string& word) { return word.substr(0, word.find('=')); }

std::string see_help(const CLI::App* command) {
  return command == nullptr ? "see intarsia --help"
                            : fmt::format("see intarsia {} --help", command->get_name());
}

/// Explains an unknown option; `command` is null if the option precedes the command.
std::string explain_option(const CLI::App& app, const CLI::App* command, const std::string& word) {
  const std::string name = name_of_option(word);
  std::string text = fmt::format("unknown option '{}'", name);
  if (command != nullptr) text += fmt::format(" of {}", command->get_name());
  const std::string nearest = nearest_name(name, long_options_of(command == nullptr ? app : *command));
  if (!nearest.empty()) return fmt::format("{}: did you mean {}?", text, nearest);
  std::vector<const CLI::App*> others;
  for (const CLI::App* other : commands_of(app)) {
    if (has_option(*other, name)) others.push_back(other);
  }
  if (others.empty()) return fmt::format("{}; {}", text, see_help(command));
  return command == nullptr ? fmt::format("{} before the command: options of {} follow its name", text,
                                          fmt::join(names_of(others), ", "))
                            : fmt::format("{}: it is one of {}", text, fmt::join(names_of(others), ", "));
}

std::string explain_command(const CLI::App& app, const std::string& word) {
  const std::vector<std::string> names = names_of(commands_of(app));
  const std::string nearest = nearest_name(word, names);
  return nearest.empty() ? fmt::format("unknown command '{}': want one of {}", word, fmt::join(names, ", "))
                         : fmt::format("unknown command '{}': did you mean {}?", word, nearest);
}

/// Explains one argument too many by what the others were taken for.
std::string explain_argument(const CLI::App& command, const std::string& word) {
  std::string taken;
  for (const CLI::Option* option : command.get_options()) {
    if (option->get_positional() && option->count() > 0)
      taken += fmt::format("{}'{}' is the {}", taken.empty() ? ": " : ", ", option->results().front(),
                           option->get_type_name());
  }
  return fmt::format("unexpected argument '{}' of {}{}; {}", word, command.get_name(), taken,
                     see_help(&command));
}

}  // namespace

void check_dashes(const CLI::App& app, int argc, char** argv) {
  const CLI::App* command = nullptr;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--") return;
    if (command == nullptr) command = find_command(app, word);
    const bool has_one_dash = is_option(word) && word[1] != '-' && word.size() > 2;
    if (command == nullptr || !has_one_dash || !has_option(*command, "-" + name_of_option(word))) continue;
    throw UsageError(fmt::format("unknown option '{0}' of {1}: did you mean -{0}?", name_of_option(word),
                                 command->get_name()));
  }
}

std::string explain_wrong_usage(const CLI::App& app, const CLI::ParseError& error) {
  const std::vector<CLI::App*> parsed = app.get_subcommands();
  const CLI::App* command = parsed.empty() ? nullptr : parsed.front();
  const auto code = static_cast<CLI::ExitCodes>(error.get_exit_code());
  const bool is_left_over = code == CLI::ExitCodes::RequiredError || code == CLI::ExitCodes::ExtrasError;
  if (!is_left_over) return fmt::format("{}; {}", error.what(), see_help(command));
  std::vector<std::string> before = app.remaining(), after;
  if (command != nullptr) after = command->remaining();
  if (!before.empty())
    return is_option(before.front()) ? explain_option(app, nullptr, before.front())
                                     : explain_command(app, before.front());
  if (const auto word = std::find_if(after.begin(), after.end(), is_option); word != after.end())
    return explain_option(app, command, *word);
  if (!after.empty()) return explain_argument(*command, after.front());
  if (command == nullptr)
    return fmt::format("want a command: {}", fmt::join(names_of(commands_of(app)), ", "));
  return fmt::format("{}: {}; {}", command->get_name(), error.what(), see_help(command));
}
