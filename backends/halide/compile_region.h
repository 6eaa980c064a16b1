// The table of contents of the halide backend: a region becomes code, step by step.
#pragma once

#include <functional>

#include "backends/halide/emit/emit_objects.h"
#include "target/target.h"

namespace intarsia::halide {

/// Gets the text of what each step made ("canonicalize", "simplify", "choose_layouts", "fuse",
/// "make_kernels", ...).
using Printer = std::function<void(const std::string& step, const std::string& text)>;

struct RegionOptions {
  EmitOptions emit;
  Printer printer;
};

Result<CompiledRegion> compile_region(const Graph& region, Emitter& emitter, const CompileOptions& options,
                                      const RegionOptions& region_options);

}  // namespace intarsia::halide
