// Scripts that complete the command line in shells.
#pragma once

#include <string>
#include <vector>

#include "cli/usage/command_table.h"

std::string print_bash_completion(const std::vector<CommandEntry>& commands);
std::string print_zsh_completion(const std::vector<CommandEntry>& commands);
std::string print_fish_completion(const std::vector<CommandEntry>& commands);
