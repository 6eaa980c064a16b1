// Bytes of the glue object, for the compile half to add to a program's objects.
#pragma once

#include <string>

namespace intarsia::halide {

std::string glue_object();

}  // namespace intarsia::halide
