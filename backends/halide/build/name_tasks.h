// Names in a kernel's object that do not depend on what else this process has compiled.
#pragma once

#include <Halide.h>

namespace intarsia::halide {

/// Numbers the functions of parallel loops within `module`, whose kernel is called `kernel`, while Halide
/// numbers them across the whole process: equal kernels have equal objects.
void name_tasks(Halide::Module& module, const std::string& kernel);

}  // namespace intarsia::halide
