// Code of a kernel.
#pragma once

#include <string>
#include <vector>

#include "backends/halide/schedule/kernel.h"

namespace intarsia::halide {

/// Compiled kernel. It exports `intarsia_<digest of the kernel>_<digest of its arguments>_argv`, which takes
/// an array of pointers: to the user context, then to each buffer.
struct EmittedKernel {
  std::string symbol;        // exported name, including _argv
  std::string object_file;   // ELF, relocatable
  Argument output;           // output buffer as the code sees it
  size_t scratch_bytes = 0;  // most bytes that a task holds from halide_malloc at a time, but of open sizes
  bool in_place = false;     // whether the output is written over the input that the kernel names
  size_t stack_bytes = 0;    // bytes of stack that it takes, without routines that it calls; 0: unknown
  Dim scratch_bound = {};    // of all that a task holds, over the kernel's open sizes; perhaps unknown
};

}  // namespace intarsia::halide
