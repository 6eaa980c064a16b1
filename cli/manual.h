// Manual pages, for `man intarsia` and `man intarsia-compile`.
#pragma once

#include <string>
#include <vector>

#include "command_table.h"

/// The page of the whole: what there is, exit status, files.
std::string print_manual(const CLI::App& app, const std::vector<CommandEntry>& commands);
/// Of one command.
std::string print_manual(const CommandEntry& command);
