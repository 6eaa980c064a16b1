// Compile half of the halide backend: our compiler.
#pragma once

#include <memory>

#include "target/target.h"

namespace intarsia::halide {

std::unique_ptr<Target> make_target();

}  // namespace intarsia::halide
