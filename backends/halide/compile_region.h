// Table of contents of the halide backend: a region becomes code, step by step.
#pragma once

#include <span>

#include "backends/halide/emit/emit_objects.h"
#include "target/target.h"

namespace intarsia::halide {

/// Returns the names of the steps whose texts CompileOptions::print_step gets, in order: "canonicalize",
/// "simplify", ...
std::span<const std::string_view> step_names();

Result<CompiledRegion> compile_region(const Graph& region, Emitter& emitter, const CompileOptions& options,
                                      const EmitOptions& emit, KernelDevice device = KernelDevice::cpu);

/// Implements Target::output_layouts.
Result<std::vector<AxisOrder>> output_layouts(const Graph& region);

}  // namespace intarsia::halide
