#include "cli/usage/manual.h"

#include <fmt/format.h>
#include <intarsia/intarsia.h>

#include <algorithm>

namespace {

/// Escapes text for the formatter of manual pages: no dash is a hyphen, and no line is a request.
std::string escape_roff(const std::string& text) {
  std::string escaped;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool begins_line = i == 0 || text[i - 1] == '\n';
    if (begins_line && (text[i] == '.' || text[i] == '\'')) escaped += "\\&";
    if (text[i] == '\\')
      escaped += "\\e";
    else if (text[i] == '-')
      escaped += "\\-";
    else
      escaped += text[i];
  }
  return escaped;
}

std::string bold(const std::string& text) { return "\\fB" + escape_roff(text) + "\\fR"; }
std::string italic(const std::string& text) { return "\\fI" + escape_roff(text) + "\\fR"; }

std::string print_head(const std::string& page, const std::string& meaning) {
  return fmt::format(".TH {} 1 \"\" \"intarsia {}\" \"User Commands\"\n.SH NAME\n{} \\- {}\n", page,
                     intarsia_version(), escape_roff(page), escape_roff(meaning));
}

/// Prints a footer, in which lines that start with spaces are kept as they are.
std::string print_footer(const std::string& footer) {
  std::string text;
  bool is_example = false;
  for (size_t at = 0; at < footer.size();) {
    const size_t end = std::min(footer.find('\n', at), footer.size());
    const std::string line = footer.substr(at, end - at);
    const bool begins_with_space = line.rfind(' ', 0) == 0;
    if (begins_with_space != is_example) text += begins_with_space ? ".nf\n" : ".fi\n";
    is_example = begins_with_space;
    text += line.empty() ? ".PP\n" : escape_roff(line) + "\n";
    at = end + 1;
  }
  return text + (is_example ? ".fi\n" : "");
}

std::string print_option(const OptionEntry& option) {
  std::string names;
  for (const std::string& name : option.names) names += (names.empty() ? "" : ", ") + bold(name);
  if (!option.type.empty()) names += " " + italic(option.type);
  return fmt::format(".TP\n{}\n{}\n", names, escape_roff(option.description));
}

}  // namespace

std::string print_manual(const CLI::App& app, const std::vector<CommandEntry>& commands) {
  std::string text = print_head("intarsia", "compiles trained models to programs, and runs them");
  text += ".SH SYNOPSIS\n" + bold("intarsia") + " " + italic("COMMAND") + " [" + italic("OPTIONS") + "]\n";
  text += ".SH DESCRIPTION\n" + escape_roff(app.get_description()) + "\n.SH COMMANDS\n";
  for (const CommandEntry& command : commands)
    text +=
        fmt::format(".TP\n{}(1)\n{}\n", bold("intarsia-" + command.name), escape_roff(command.description));
  text += ".SH EXAMPLES AND EXIT STATUS\n" + print_footer(app.get_footer());
  return text;
}

std::string print_manual(const CommandEntry& command) {
  std::string text = print_head("intarsia-" + command.name, command.description);
  std::string names, arguments;
  for (const ArgumentEntry& argument : command.arguments) {
    const std::string name = italic(argument.name);
    names += " " + (argument.is_required ? name : "[" + name + "]");
    arguments += fmt::format(".TP\n{}\n{}\n", name, escape_roff(argument.description));
  }
  text +=
      fmt::format(".SH SYNOPSIS\n{} [{}]{}\n", bold("intarsia " + command.name), italic("OPTIONS"), names);
  if (!arguments.empty()) text += ".SH ARGUMENTS\n" + arguments;
  text += ".SH OPTIONS\n";
  std::vector<std::string> groups;
  for (const OptionEntry& option : command.options)
    if (std::find(groups.begin(), groups.end(), option.group) == groups.end()) groups.push_back(option.group);
  for (const std::string& each : groups) {
    if (each != groups.front()) text += ".SS " + escape_roff(each) + "\n";
    for (const OptionEntry& option : command.options)
      if (option.group == each) text += print_option(option);
  }
  if (!command.footer.empty()) text += ".SH NOTES\n" + print_footer(command.footer);
  return text + ".SH SEE ALSO\n" + bold("intarsia") + "(1)\n";
}
