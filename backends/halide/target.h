// Compile half of the halide backend: our compiler.
#pragma once

#include <memory>

#include "base/architecture.h"
#include "target/target.h"

namespace intarsia::halide {

/// Makes the target; on processors, its code is for an architecture.
std::unique_ptr<Target> make_target(Arch arch = Arch::x86_64);

}  // namespace intarsia::halide
