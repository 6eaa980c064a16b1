// Names in a kernel's object that do not depend on what else this process has compiled.
#pragma once

#include <Halide.h>

namespace intarsia::halide {

/// Halide numbers the functions of parallel loops through the whole process. Returns `module`, whose kernel is called
/// `kernel`, with these numbered from 0: equal kernels have equal objects.
Halide::Module name_tasks(const Halide::Module& module, const std::string& kernel);

}  // namespace intarsia::halide
