#include "cli/usage/command_table.h"

#include <algorithm>
#include <sstream>

namespace {

/// Returns the choices in a type: "exact" and "fast" for "exact|fast:{exact,fast}".
std::vector<std::string> choices_of(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  const size_t begin = type.find('{'), end = type.find('}');
  std::vector<std::string> choices;
  if (begin == std::string::npos || end == std::string::npos) return choices;
  std::istringstream words(type.substr(begin + 1, end - begin - 1));
  for (std::string word; std::getline(words, word, ',');) choices.push_back(word);
  std::sort(choices.begin(), choices.end());
  return choices;
}

bool names_path(const std::string& type) {
  const char* const parts[] = {"FILE", "FOLDER", "MODEL", "PROGRAM", ".so", ".json", ".html", ".onnx"};
  return std::any_of(std::begin(parts), std::end(parts),
                     [&](const char* part) { return type.find(part) != std::string::npos; });
}

OptionEntry describe_option(const CLI::Option& option) {
  OptionEntry entry;
  for (const std::string& name : option.get_snames()) entry.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) entry.names.push_back("--" + name);
  if (option.get_type_size() != 0) entry.type = type_of(option);
  entry.choices = choices_of(option);
  entry.is_path = names_path(entry.type);
  entry.is_repeatable = option.get_expected_max() > 1;
  entry.group = option.get_group();
  entry.description = option.get_description();
  return entry;
}

CommandEntry describe_command(const CLI::App& command) {
  CommandEntry entry;
  entry.name = command.get_name();
  entry.description = command.get_description();
  entry.footer = command.get_footer();
  for (const CLI::Option* option : command.get_options()) {
    if (option->get_positional()) {
      entry.arguments.push_back(
          {type_of(*option), option->get_description(), choices_of(*option), option->get_required()});
    } else {
      entry.options.push_back(describe_option(*option));
    }
  }
  return entry;
}

}  // namespace

std::vector<CommandEntry> list_commands(const CLI::App& app) {
  std::vector<CommandEntry> commands;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; }))
    if (!command->get_group().empty()) commands.push_back(describe_command(*command));
  return commands;
}

std::string type_of(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  return type.substr(0, type.find(':'));
}
