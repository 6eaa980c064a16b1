// The run half: a blob of kernel calls becomes an executable.
#pragma once

#include "device/executable.h"

namespace intarsia::halide {

/// Checks every index, offset and size of the blob against the constants and the workspace; a kernel that the
/// program's code lacks is an error.
Result<std::unique_ptr<Executable>> load(const LoadContext& context);

/// The row of the registry: name "halide".
RunBackend run_backend();

}  // namespace intarsia::halide
