// Emission of a program as plain C.
#pragma once

#include <string>
#include <vector>

#include "base/architecture.h"
#include "emit_c/write_c.h"

namespace intarsia {

struct CEmission {
  std::vector<std::string> files;  // names in the folder
  CProgram program;
  CSizes sizes;
};

/// Finds what an emission would take, without writing it. `path` is the folder and the name: "out/net".
Result<CEmission> plan_emission(const EmittedProgram& emitted, const std::string& path,
                                const EmitCOptions& options);

/// Checks that the folder of `path` can be written: it is not there, or holds nothing but an older emission of
/// the same name, and its parent takes a new one.
Status check_emission_folder(const std::string& path);

/// Writes a folder with a header, the steps, kernels, constants, a test with the recorded runs, and what
/// CMake needs to build them; whole or not at all. The files depend only on the arguments.
Status emit_c(const EmittedProgram& emitted, const CEmission& emission, const std::string& path, Arch arch,
              const EmitCOptions& options, const std::vector<RecordedRun>& runs);

}  // namespace intarsia
