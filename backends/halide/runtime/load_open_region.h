// Loader of regions with open sizes (abi/open_plan.fbs).
#pragma once

#include "device/executable.h"

namespace intarsia::halide {

/// Versions of the plan: without calls that repeat their kernel, and with.
constexpr uint32_t open_plan_version = 4, newest_open_plan_version = 9;
inline bool is_open_plan(uint32_t version) {
  return version >= open_plan_version && version <= newest_open_plan_version;
}

/// Loads the region. Its bytes are untrusted: all numbers in it are checked here, and what they give for
/// certain sizes when a run binds them.
Result<std::unique_ptr<Executable>> load_open_region(const LoadContext& context);

}  // namespace intarsia::halide
