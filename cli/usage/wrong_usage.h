// Explanation of a command line that CLI11 refuses.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

/// Throws UsageError if an option of several letters has one dash, which would be taken for options of one
/// letter: "-output".
void check_dashes(const CLI::App& app, int argc, char** argv);

/// Returns one line that names the word that is not a command or option, and what it may have been meant to
/// be. What is missing only because of that word is not mentioned.
///   "unknown option '--ouput' of compile: did you mean --output?"
std::string explain_wrong_usage(const CLI::App& app, const CLI::ParseError& error);
