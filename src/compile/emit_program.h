// Programs made of compiled functions: described, linked and written.
#pragma once

#include <set>

#include "compile/build_function.h"
#include "program/program_size.h"
#include "program/write_program.h"

namespace intarsia {

/// Program before its code is linked.
struct DescribedProgram {
  fbs::ProgramT description;  // with all slots of the problem
  ConstantLayout constants;
  std::vector<std::string> blobs;  // indexed by region
  std::vector<std::shared_ptr<const RegionCalls>> calls;  // likewise; for plain C
  std::set<std::string> objects;                          // contents of ELF files

  /// Returns the bytes of constants in the file, but for strings.
  uint64_t constants_bytes() const;
};

/// Describes functions, regions and reasons; lays out values in arenas, and constants. Refers to the
/// constants of `functions`, which belong to one model, use the same slots, and outlive it.
Result<DescribedProgram> describe_program(const std::vector<FunctionParts>& functions,
                                          const CompileRequest& request);

/// Drops the slots that the request did not name and no region uses, links the code and writes
/// request.program_path.
Result<ProgramSize> write_described(DescribedProgram program, const CompileRequest& request);

}  // namespace intarsia
