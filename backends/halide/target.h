// The compile half of the halide backend: our compiler.
#pragma once

#include <functional>
#include <memory>

#include "target/target.h"

namespace intarsia::halide {

/// Whether a device that is not the host computes in f64. May open its driver.
using HasF64 = std::function<bool(const TargetDevice& device)>;

/// `has_f64`: asked for nodes that want it; none: no device has.
std::unique_ptr<Target> make_target(HasF64 has_f64 = {});

}  // namespace intarsia::halide
