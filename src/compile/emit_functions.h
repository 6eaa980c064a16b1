// Writing of all compiled functions: the state of the pass, and what it does.
#pragma once

#include "compile/functions.h"
#include "emit_c/emit_c.h"
#include "program/program_size.h"

namespace intarsia {

/// State of the pass that writes the program of all functions.
struct Emission {
  const CompileRequest& request;
  std::vector<CompiledFunction>& functions;  // gets sizes and memory use
  uint64_t constants_bytes = 0;              // size as stored in the program: equal constants count once
  std::optional<ProgramSize> size = {};      // nullopt if no program was written
  std::optional<CEmission> plain_c = {};     // present if plain C is asked for

  const Graph& graph() const { return functions[0].problem->graph; }
};

/// Lays out values and constants, checks the memory limits, and writes the program and the plan file, unless
/// the compile stops here.
Status emit_functions(Emission& emission);
/// Returns the bytes of constants and arenas.
std::string describe_emission(const Emission& emission);

}  // namespace intarsia
