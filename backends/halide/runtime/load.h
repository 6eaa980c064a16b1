// The run half: turns a blob of kernel calls into an executable.
#pragma once

#include "device/executable.h"

namespace intarsia::halide {

/// Checks every index, offset and size of the blob against the constants and the workspace; a kernel missing
/// from the program's code is an error.
Result<std::unique_ptr<Executable>> load(const LoadContext& context);

/// The entry for the registry: name "halide".
RunBackend run_backend();

}  // namespace intarsia::halide
