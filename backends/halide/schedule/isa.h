// What schedules must know about the processor.
#pragma once

#include <string>

#include "base/result.h"

namespace intarsia::halide {

struct Isa {
  std::string level;  // "x86-64-v2", "x86-64-v3", "x86-64-v4"
  int vector_bytes = 16;
  int registers = 16;  // of that width
  int lanes(int element_bytes) const { return vector_bytes / element_bytes; }
};

/// From CompileOptions::cpu; "native" is what this machine has.
Result<Isa> make_isa(const std::string& cpu);

}  // namespace intarsia::halide
