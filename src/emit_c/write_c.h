// Texts of a program in plain C.
#pragma once

#include <string>
#include <vector>

#include "base/tensor_view.h"
#include "emit_c/c_program.h"

namespace intarsia {

/// Sizes of an emitted program, in bytes.
struct CSizes {
  uint64_t code = 0, data = 0;  // code and read-only data of kernels
  uint64_t constants = 0;       // weights
  uint64_t arena = 0;           // working memory of the function that takes the most
  uint64_t stack = 0;           // most that a kernel takes; 0: unknown
  std::string largest_kernel;   // what it computes
  uint64_t largest_kernel_bytes = 0;
};

/// Returns the header: structs of arguments, the arena's size, error codes and functions.
std::string write_c_header(const EmittedProgram& emitted, const CProgram& program,
                           const EmitCOptions& options, const CSizes& sizes);

/// Steps of all functions.
struct CSource {
  std::string text;
  std::string digest;  // what a file of constants knows the program by: 32 hexadecimal digits
};
CSource write_c_source(const EmittedProgram& emitted, const CProgram& program, const EmitCOptions& options);

/// Returns a main program that runs each function on recorded inputs, and compares the outputs.
std::string write_c_test(const CProgram& program, const EmitCOptions& options,
                         const std::vector<RecordedRun>& runs, bool has_threads);

/// Returns a file for CMake's include(), with a library of the program's name.
std::string write_c_build(const EmittedProgram& emitted, const CProgram& program,
                          const EmitCOptions& options);

/// Returns the declaration of the function that runs, without what follows it.
std::string declare_run(const EmittedProgram& emitted, const CProgram& program, const CFunction& function,
                        const EmitCOptions& options);

}  // namespace intarsia
