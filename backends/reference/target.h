// Compile half of the reference backend: plain C++ for every operator of the op table. It takes any node that
// has a kernel and touches tensors only.
#pragma once

#include <memory>

#include "target/target.h"

namespace intarsia {

std::unique_ptr<Target> make_reference_target();

}  // namespace intarsia
