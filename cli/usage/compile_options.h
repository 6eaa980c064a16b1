// Options that say how to compile a model, for every command that takes one.
#pragma once

#include <CLI/CLI.hpp>
#include <intarsia/intarsia_compile.hpp>
#include <string>
#include <vector>

/// Adds the options to the command; `options` must outlive it.
void add_compile_options(CLI::App& command, intarsia::CompileOptions& options);

/// Adds to the description of --shape what it means for a program; `also` is what else it may be there.
void describe_shape_of_program(CLI::App& command, const std::string& also);
/// Throws UsageError if a compile option that is not in `allowed` was given: a program is already compiled.
void refuse_compile_options(const CLI::App& command, const std::vector<std::string>& allowed);

/// Returns the files that a compile of `model` reads.
std::vector<std::string> inputs_of(const std::string& model, const intarsia::CompileOptions& options);

/// Checks whether `path` is a program (an ELF file); false for anything else, even an unreadable file.
bool is_program(const std::string& path);
