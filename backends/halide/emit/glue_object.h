// Bytes of the glue objects, for the compile half to add to a program's objects.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/cpu_level.h"
#include "target/kernel_timer.h"

namespace intarsia::halide {

/// Checks that this library has such objects for an architecture: they are compiled when it is built, by
/// compilers that may be missing there. Code for microcontrollers needs Clang here, too.
Status check_glue(Arch arch);

/// Returns what all kernels of an architecture call.
std::string glue_object(Arch arch);
/// Returns what functions of users need beside it.
std::string error_glue_object(Arch arch);
/// Returns the functions that kernels call for dot products of AVX-VNNI or AVX-512 VNNI (dot_tiles.c), or
/// of NEON (dot_tiles_neon.c).
std::string dot_tiles_object(DotProducts kind);
/// Returns the functions of routines/ for a level of processors (CodeTarget::level).
std::string routines_object(const std::string& level);

/// Returns the names and texts of what programs in plain C include to call kernels. They live as long as this
/// library.
std::vector<std::pair<std::string_view, std::string_view>> call_sources();

/// Returns the program that times kernels on machines of an architecture.
Result<KernelTimer> kernel_timer(Arch arch);

}  // namespace intarsia::halide
