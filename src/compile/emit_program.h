// Writing compiled functions to a program file.
#pragma once

#include "compile/build_function.h"

namespace intarsia {

struct ProgramSizes {
  uint64_t constants_bytes = 0;       // total over the program: equal constants are stored once
  std::vector<uint64_t> arena_bytes;  // bytes by function, total over all spaces
};

/// Lays out values in arenas, describes functions, regions and reasons, links the code and writes
/// request.program_path (skipped with dry_run). All functions belong to one model and use the same slots.
Result<ProgramSizes> emit_program(const std::vector<FunctionParts>& functions, const CompileRequest& request);

}  // namespace intarsia
