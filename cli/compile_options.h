// The options that say how to compile: of compile, check and explain.
#pragma once

#include <intarsia/intarsia_compile.hpp>
#include <string>
#include <vector>

#include "commands.h"

/// Adds -d, --backends, --shape, --threads, --pin, --fallback, --cpu and --kernels.
void add_compile_options(CLI::App& command, intarsia::CompileOptions& options);

/// Of a program nothing of this can be chosen any more: throws UsageError when one was given but `allowed`.
void refuse_compile_options(const CLI::App& command, const std::vector<std::string>& allowed);

/// Files that a compile of `model` reads.
std::vector<std::string> inputs_of(const std::string& model, const intarsia::CompileOptions& options);

/// True for a program (an ELF file); false for all else, also when it cannot be read.
bool is_program(const std::string& path);
