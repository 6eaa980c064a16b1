// How errors and reports name a region.
#pragma once

#include <string>

#include "program/program.h"

namespace intarsia {

/// "region 2 (halide@cpu: conv1 (Conv), relu1 (Relu) and 12 more)"
std::string region_text(const fbs::ProgramT& program, size_t region);

/// "Einsum, NonMaxSuppression": the distinct operators of all regions of a backend.
std::string backend_ops(const fbs::ProgramT& program, const std::string& backend);

}  // namespace intarsia
