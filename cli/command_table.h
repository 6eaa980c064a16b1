// The commands and their options as data, for completion in shells and for manual pages.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

struct OptionEntry {
  std::vector<std::string> names;    // "-o", "--output"
  std::string type;                  // "PROGRAM.so"; empty: a flag
  std::vector<std::string> choices;  // "exact", "fast"; empty: other values
  bool is_path = false;              // of a file or folder
  bool is_repeatable = false;
  std::string group, description;
};

struct CommandEntry {
  std::string name, description, footer;
  std::string argument;  // "MODEL|PROGRAM"; empty: none
  std::string argument_description;
  std::vector<std::string> argument_choices;  // empty: a file or folder
  bool is_argument_required = false;
  std::vector<OptionEntry> options;
};

/// Those that help shows, in its order.
std::vector<CommandEntry> list_commands(const CLI::App& app);

/// "N" of "N:INT in [1 - 1024]": what is checked is said by the error.
std::string type_of(const CLI::Option& option);
