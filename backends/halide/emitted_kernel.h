// A kernel's code.
#pragma once

#include <string>

#include "backends/halide/kernel.h"

namespace intarsia::halide {

/// Exports `intarsia_<digest>_argv`, which takes an array of pointers: to the user context, then to each buffer.
struct EmittedKernel {
  std::string symbol;        // with the _argv at its end
  std::string object_file;   // ELF, relocatable
  Argument output;           // the output buffer as the code sees it
  size_t scratch_bytes = 0;  // most bytes that one task of it holds from halide_malloc at a time
};

}  // namespace intarsia::halide
