// Names in a kernel's object that do not depend on what else this process has compiled.
#pragma once

#include <Halide.h>

namespace intarsia::halide {

/// Halide numbers the functions of parallel loops across the whole process. Here they are numbered within
/// `module`, whose kernel is called `kernel`: equal kernels have equal objects.
void name_tasks(Halide::Module& module, const std::string& kernel);

}  // namespace intarsia::halide
