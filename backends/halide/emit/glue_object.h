// Bytes of the glue objects, for the compile half to add to a program's objects.
#pragma once

#include <string>

namespace intarsia::halide {

std::string glue_object();
/// Returns what functions of users need beside it.
std::string error_glue_object();

}  // namespace intarsia::halide
