// Writes what was compiled as a program file.
#pragma once

#include "compile/compile_model.h"
#include "compile/compile_regions.h"

namespace intarsia {

/// Lays out values in arenas, describes functions, regions and reasons, links the code and writes request.program_path
/// (nothing with dry_run). Fills result.constants_bytes and result.arena_bytes.
Status emit_program(CompileResult& result, const CompiledRegions& regions, const CompileRequest& request);

}  // namespace intarsia
