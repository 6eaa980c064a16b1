// Sizes of a function's outputs from those of its inputs, found by asking the function what it reads.
#pragma once

#include <string>
#include <vector>

#include "backends/halide/functions/bounds_query.h"
#include "base/dim.h"
#include "target/function_compiler.h"

namespace intarsia::halide {

/// Argument of a function with sizes over named ones. Axes count from the outermost, unlike Halide's.
struct SizedArgument {
  std::string name;
  std::vector<Dim> shape;
  std::vector<int32_t> mins;  // first coordinates
};

struct InferredSizes {
  std::vector<SizedArgument> arguments;  // as the function's
  std::vector<FunctionSize> open;        // "x_0": axis 0 of the input x
};

/// Infers the sizes. An input's axis is as long as what the function reads along it, which grows with one
/// axis of the outputs (by a whole factor, or by a part of one), is the same for all outputs, or is all that
/// is there, as in a reduction. Where a boundary condition limits what is read to what is there, the output
/// is as long as the input, or shorter by the factor. The result is checked by further questions. Errors:
/// sizes of another form, or outputs whose sizes no input tells.
Result<InferredSizes> infer_sizes(const QueriedFunction& function);

}  // namespace intarsia::halide
