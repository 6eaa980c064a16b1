// Manual pages, for `man intarsia` and `man intarsia-compile`.
#pragma once

#include <string>
#include <vector>

#include "cli/usage/command_table.h"

/// Returns the page of the whole command line: its commands, examples, exit status.
std::string print_manual(const CLI::App& app, const std::vector<CommandEntry>& commands);
/// Returns the page of one command.
std::string print_manual(const CommandEntry& command);
