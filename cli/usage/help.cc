#include "cli/usage/help.h"

#include "cli/text/wrap_text.h"
#include "cli/usage/command_table.h"

namespace {

constexpr size_t column = 28;  // column at which descriptions start

/// Formats a name and, beside or below it, its meaning.
std::string print_entry(const std::string& name, const std::string& meaning) {
  std::string line = "  " + name;
  const bool has_room = line.size() + 2 <= column;
  const std::string before = has_room ? "" : line + "\n";
  if (!has_room) line.clear();
  line.resize(column, ' ');
  return before + wrap_lines(line + meaning, column, output_width());
}

}  // namespace

std::string Help::make_description(const CLI::App* app) const {
  return wrap_lines(app->get_description() + "\n\n", 0, output_width());
}

std::string Help::make_footer(const CLI::App* app) const {
  return wrap_lines(app->get_footer(), 0, output_width());
}

std::string Help::make_help(const CLI::App* app, std::string name, CLI::AppFormatMode mode) const {
  std::string text = CLI::Formatter::make_help(app, std::move(name), mode);
  for (size_t at = text.find("\n\n\n"); at != std::string::npos; at = text.find("\n\n\n")) text.erase(at, 1);
  return text;
}

std::string Help::make_option(const CLI::Option* option, bool is_positional) const {
  return print_entry(make_option_name(option, is_positional) + make_option_opts(option),
                     make_option_desc(option));
}

std::string Help::make_option_name(const CLI::Option* option, bool is_positional) const {
  return is_positional ? type_of(*option) : CLI::Formatter::make_option_name(option, is_positional);
}

std::string Help::make_option_usage(const CLI::Option* option) const {
  return option->get_required() ? type_of(*option) : "[" + type_of(*option) + "]";
}

/// Leaves out what else an option needs or excludes: error messages say that.
std::string Help::make_option_opts(const CLI::Option* option) const {
  const std::string type = type_of(*option);
  return option->get_positional() || option->get_type_size() == 0 || type.empty() ? "" : " " + type;
}

std::string Help::make_subcommand(const CLI::App* command) const {
  return print_entry(command->get_name(), command->get_description());
}
