// Texts by which errors and reports name regions.
#pragma once

#include <string>

#include "program/program.h"

namespace intarsia {

/// Returns a text like "region 2 (halide@cpu: conv1 (Conv), relu1 (Relu) and 12 more)".
std::string region_text(const fbs::ProgramT& program, size_t region);

/// Returns the distinct operators of all regions of a backend, as in "Einsum, NonMaxSuppression".
std::string backend_ops(const fbs::ProgramT& program, const std::string& backend);

}  // namespace intarsia
