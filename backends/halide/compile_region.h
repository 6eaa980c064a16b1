// The table of contents of the halide backend: a region becomes code, step by step.
#pragma once

#include <span>

#include "backends/halide/emit/emit_objects.h"
#include "target/target.h"

namespace intarsia::halide {

/// Names of the steps that CompileOptions::print_step gets texts of, in order: "canonicalize", "simplify",
/// ...
std::span<const std::string_view> step_names();

Result<CompiledRegion> compile_region(const Graph& region, Emitter& emitter, const CompileOptions& options,
                                      const EmitOptions& emit, KernelDevice device = KernelDevice::cpu);

/// Target::output_layouts.
Result<std::vector<AxisOrder>> output_layouts(const Graph& region);

}  // namespace intarsia::halide
