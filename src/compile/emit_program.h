// Writes what was compiled as a program file.
#pragma once

#include "compile/compile_model.h"
#include "compile/compile_regions.h"

namespace intarsia {

/// A function's plan with what the backends made of it.
struct CompiledPlan {
  CompileResult plan;
  CompiledRegions regions;
};

/// Lays out values in arenas, describes functions, regions and reasons, links the code and writes
/// request.program_path (nothing with dry_run). All functions are of one model and for the same slots. Fills
/// constants_bytes of the first plan (of the whole program: equal constants are stored once) and arena_bytes
/// of each.
Status emit_program(std::vector<CompiledPlan>& functions, const CompileRequest& request);

}  // namespace intarsia
