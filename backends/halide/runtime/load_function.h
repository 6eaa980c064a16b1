// Regions that are one function which a user wrote with Halide.
#pragma once

#include "device/executable.h"

namespace intarsia::halide {

/// Makes a region of the blob, a Plan of function_plan.fbs. Errors: the blob is damaged or does not fit the
/// code.
Result<std::unique_ptr<Executable>> load_function(const LoadContext& context);

}  // namespace intarsia::halide
