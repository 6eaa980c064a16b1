// Profile of a run, for `run --profile` and `bench --profile`.
#pragma once

#include <CLI/CLI.hpp>
#include <intarsia/intarsia.hpp>

#include "cli/text/print.h"

struct ProfileOptions {
  bool wanted = false;
  bool all_rows = false;
};

/// Adds `--profile` and `--all-rows`. `options` must outlive the command.
void add_profile_options(CLI::App& command, ProfileOptions& options);

/// Returns the object of docs/json.md.
Json describe_profile(const intarsia::Profile& profile);

/// Formats the profile as a table of `width` columns: the rows that take most, or all.
std::string print_profile(const Json& profile, bool all_rows, size_t width);
