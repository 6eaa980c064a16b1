// Families of rewrite rules: each canonicalize_<family>.cc holds the rules of one.
#pragma once

#include <span>

#include "backends/halide/canonicalize/rewriter.h"

namespace intarsia::halide {

std::span<const RuleEntry> elementwise_rules();
std::span<const RuleEntry> movement_rules();
std::span<const RuleEntry> indexing_rules();
std::span<const RuleEntry> window_rules();
std::span<const RuleEntry> contraction_rules();
std::span<const RuleEntry> einsum_rules();
std::span<const RuleEntry> reduction_rules();
std::span<const RuleEntry> resize_rules();
std::span<const RuleEntry> recurrent_rules();
std::span<const RuleEntry> quantization_rules();
std::span<const RuleEntry> scatter_rules();
std::span<const RuleEntry> selection_rules();
std::span<const RuleEntry> counted_rules();
std::span<const RuleEntry> sampling_rules();
std::span<const RuleEntry> tree_rules();
std::span<const RuleEntry> random_rules();

/// Rewrites a node whose inputs are numbers that integers stand for, if it can compute with the integers: a
/// product or convolution by constants, `rule` where it moves numbers, a quantization as before. Returns
/// false for other nodes.
Result<bool> rewrite_on_integers(Rewriter& rewriter, Rewriter::Rule rule);

/// Maximum number of elements in a tensor: kernels index with 32 bits.
constexpr int64_t max_elements = int64_t{1} << 30;

/// Fails unless the first input is f16, bf16, f32 or f64.
Status require_floats(Rewriter& rewriter);

/// Emits a core Slice: elements start, start + step, ... of each axis, as many as `sizes` say.
ValueId slice(Rewriter& rewriter, ValueId from, SymbolicShape starts, std::vector<int64_t> steps,
              SymbolicShape sizes);

/// Geometry of a window. `pads` has the padding at the start of each spatial axis, then at the end, from the
/// attribute `pads` or `auto_pad`.
struct WindowGeometry {
  std::vector<int64_t> kernel, strides, dilations;
  SymbolicShape pads;
};
Result<WindowGeometry> window_geometry(Rewriter& rewriter, const Shape& kernel, const SymbolicShape& in,
                                       const SymbolicShape& out);

/// Returns the parameters of a convolution by weights [M, C/group, taps...]; fails if they do not fit.
Result<ConvAttributes> conv_attributes(Rewriter& rewriter, const SymbolicShape& in, const Shape& weights);

/// Emits the product of matrices in the last two axes, of which one may be a vector, as MatMul has it; its
/// dtype is that of the sums.
Result<ValueId> matrix_product(Rewriter& rewriter, ValueId a, ValueId b, SymbolicShape out);

/// Emits the product of vectors in the last axis by a matrix of `columns` columns, given by the inputs and
/// attributes of a core MatMul after its first.
Result<ValueId> matrix_product(Rewriter& rewriter, ValueId a, std::vector<ValueId> matrix, int64_t columns,
                               const MatMulAttributes& attributes, SymbolicShape out);

/// Returns the view of a matrix whose last two axes are swapped.
ValueId swap_last(Rewriter& rewriter, ValueId matrix);

}  // namespace intarsia::halide
