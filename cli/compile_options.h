// The options that say how to compile a model, of every command that takes one.
#pragma once

#include <intarsia/intarsia_compile.hpp>
#include <string>
#include <vector>

#include "commands.h"

/// `options` must outlive the command.
void add_compile_options(CLI::App& command, intarsia::CompileOptions& options);

/// For a program none of these can be chosen any more: throws UsageError if one not in `allowed` was given.
void refuse_compile_options(const CLI::App& command, const std::vector<std::string>& allowed);

/// Files that a compile of `model` reads.
std::vector<std::string> inputs_of(const std::string& model, const intarsia::CompileOptions& options);

/// True for a program (an ELF file); false for anything else, even if it cannot be read.
bool is_program(const std::string& path);
