// Writes what was compiled as a program file.
#pragma once

#include "compile/build_function.h"

namespace intarsia {

struct ProgramSizes {
  uint64_t constants_bytes = 0;       // of the whole program: equal constants are stored once
  std::vector<uint64_t> arena_bytes;  // of each function, in all spaces
};

/// Lays out values in arenas, describes functions, regions and reasons, links the code and writes
/// request.program_path (nothing with dry_run). All functions are of one model and for the same slots.
Result<ProgramSizes> emit_program(const std::vector<FunctionParts>& functions, const CompileRequest& request);

}  // namespace intarsia
