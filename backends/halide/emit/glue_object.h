// Bytes of the glue objects, for the compile half to add to a program's objects.
#pragma once

#include <string>

#include "base/cpu_level.h"

namespace intarsia::halide {

std::string glue_object();
/// Returns what functions of users need beside it.
std::string error_glue_object();
/// Returns the functions that kernels call for dot products of AVX-VNNI or AVX-512 VNNI (dot_tiles.c).
std::string dot_tiles_object(DotProducts kind);

}  // namespace intarsia::halide
