// Commands and their options as data, for completion in shells and for manual pages.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

struct OptionEntry {
  std::vector<std::string> names;    // short and long: "-o", "--output"
  std::string type;                  // type of the value: "PROGRAM.so"; empty for a flag
  std::vector<std::string> choices;  // possible values: "exact", "fast"; empty: any value
  bool is_path = false;              // whether the value is a file or folder
  bool is_repeatable = false;
  std::string group, description;
};

struct ArgumentEntry {
  std::string name;  // "MODEL|PROGRAM"
  std::string description;
  std::vector<std::string> choices;  // possible values; empty for a file or folder
  bool is_required = false;
};

struct CommandEntry {
  std::string name, description, footer;
  std::vector<ArgumentEntry> arguments;
  std::vector<OptionEntry> options;
};

/// Returns the commands that help shows, in its order.
std::vector<CommandEntry> list_commands(const CLI::App& app);

/// Returns the type without its check, "N" for "N:INT in [1 - 1024]": error messages tell what is checked.
std::string type_of(const CLI::Option& option);
