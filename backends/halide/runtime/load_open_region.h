// Loader of regions with open sizes (abi/open_plan.fbs).
#pragma once

#include "device/executable.h"

namespace intarsia::halide {

constexpr uint32_t open_plan_version = 5;

/// Loads the region. Its bytes are untrusted: all numbers in it are checked here, and what they give for
/// certain sizes when a run binds them.
Result<std::unique_ptr<Executable>> load_open_region(const LoadContext& context);

}  // namespace intarsia::halide
