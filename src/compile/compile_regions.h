// Every region becomes a blob, code and constants, by its backend.
#pragma once

#include "compile/compile_model.h"

namespace intarsia {

struct CompiledRegions {
  std::vector<CompiledRegion> regions;
  std::vector<std::string> object_files;  // of all regions, each once
};

/// Fills result.kernels and result.tuning. Errors name the region's target and its first source node.
Result<CompiledRegions> compile_regions(CompileResult& result, const CompileRequest& request, const Toolbox& tools);

}  // namespace intarsia
