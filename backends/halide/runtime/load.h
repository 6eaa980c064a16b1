// Run half: turns a blob of kernel calls into an executable.
#pragma once

#include "device/executable.h"

namespace intarsia::halide {

/// Loads a blob. Checks every index, offset and size in it against the constants and the workspace; a kernel
/// missing from the program's code is an error.
Result<std::unique_ptr<Executable>> load(const LoadContext& context);

/// Returns the entry for the registry, named "halide".
RunBackend run_backend();

}  // namespace intarsia::halide
