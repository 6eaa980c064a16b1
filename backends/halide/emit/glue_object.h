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
/// Returns the functions of routines/ for a level of processors, "x86-64-v2" to "x86-64-v4".
std::string routines_object(const std::string& level);

}  // namespace intarsia::halide
