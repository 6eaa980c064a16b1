// Functions that add one command each to the command line, in the file of its name. A command throws
// UsageError when it was used wrongly (exit status 2) and intarsia::Error when its work failed (1).
#pragma once

#include <CLI/CLI.hpp>

void add_compile_command(CLI::App& app);
void add_run_command(CLI::App& app);
void add_check_command(CLI::App& app);
void add_bench_command(CLI::App& app);
void add_explain_command(CLI::App& app);
void add_split_command(CLI::App& app);
void add_rewrite_command(CLI::App& app);
void add_costs_command(CLI::App& app);
void add_tune_pack_command(CLI::App& app);
void add_devices_command(CLI::App& app);
void add_shell_commands(CLI::App& app);  // completion and manual
