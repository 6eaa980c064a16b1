// Kernels as scheduled Halide pipelines. There is one build_<form>.cc per form; it contains the schedule,
// unless the schedule has parameters to choose and is in schedule_<form>.cc.
#pragma once

#include <Halide.h>

#include <functional>

#include "backends/halide/build/even_tiles.h"
#include "backends/halide/schedule/isa.h"
#include "backends/halide/schedule/kernel.h"

namespace intarsia::halide {

using Halide::Expr;
using Halide::Func;
using Halide::RDom;
using Halide::RVar;
using Halide::Var;
using Exprs = std::vector<Expr>;

/// Pipeline of a kernel, and its output buffer as the code sees it (a channel axis may be split into panels).
struct BuiltKernel {
  Func output;
  std::vector<Halide::Argument> arguments;
  Argument output_argument;
  std::optional<EvenTiles> even_tiles;   // what the code leaves to call_for_even_tiles()
  std::vector<std::string> amx_sums;     // functions whose sums are left to multiply_on_amx()
  std::string dot_tile_sums;             // function whose sums are left to call_dot_tiles(); empty: none
  std::vector<Dim> routine_blocks = {};  // bytes of the blocks that a task's routine holds at a time

  /// Leaves the choice of tiles to call_for_even_tiles().
  void leave(const EvenTiles& tiles);
};

/// Tensor whose element is found at an index with one expression per axis.
struct Operand {
  SymbolicShape shape;
  std::function<Expr(const Exprs& index)> at;
};

/// Way in which the register tiles of a kernel run.
enum class Mapping {
  loops,         // loops of a processor, some of which are parallel
  tile_per_item  // work items of a device, one tile each
};

/// Loops outside of the work items of a device: fused into one axis of the grid, or apart, the first three as
/// axes of the grid and the others launching one after the other. Halide does not see that an item has one
/// index of a fused loop where several have open sizes, and then finds no fixed size for what the item keeps.
enum class OuterLoops { fused, apart };

/// State and helpers that the build_<form> functions share.
class KernelBuilder {
 public:
  explicit KernelBuilder(const Kernel& kernel, OuterLoops outer_loops = OuterLoops::fused);

  const Kernel& kernel() const { return kernel_; }
  const Isa& isa() const { return kernel_.isa; }
  Mapping mapping() const { return mapping_; }
  OuterLoops outer_loops() const { return outer_loops_; }
  const Argument& input(size_t i) const { return kernel_.inputs[i]; }
  /// Returns the buffer of a value that is an input, for functions that read it themselves.
  Halide::Parameter buffer(ValueId input) const;
  const Argument& output() const { return kernel_.output; }
  const Graph& body() const { return kernel_.body; }
  const Node& anchor() const { return kernel_.body.node(kernel_.anchor); }
  const SymbolicShape& sizes(ValueId value) const { return sizes_of(kernel_.body, value); }
  Shape shape(ValueId value) const { return shape_of(kernel_.body, value); }
  /// Returns a size as the code computes it: a number, or an expression over the kernel's open sizes.
  Expr size(const Dim& size, Halide::Type type = Halide::Int(32)) const;
  Halide::Type type(ValueId value) const;
  /// Returns the number of elements in a vector of the kernel's widest type.
  int lanes() const;

  Operand& operand(ValueId value) { return operands_[index(value)]; }
  /// Returns the element of a value that broadcasts to the sizes `index` runs over.
  Expr broadcast_at(ValueId value, const Exprs& index);
  /// Returns the kernel's result at `index` of the output, where the anchor's (if any) is `anchor_value`.
  Expr result_at(const Exprs& index, Expr anchor_value);
  /// Returns a value computed by the elementwise nodes after `from` (all of them if `from` is no_node), given
  /// that the value of `from` is `from_value`.
  Expr value_after(NodeId from, Expr from_value, ValueId wanted, const Exprs& index);
  /// Returns element (batch..., row, column) of a matrix; its batch axes broadcast.
  Expr matrix_at(ValueId value, const Exprs& index);

  /// Returns the arguments of the function that computes the output, or some of its loops from the innermost
  /// to the outermost: `vars` and, on a device, the place of the output in its memory (kernel_device.h).
  std::vector<Var> output_vars(std::vector<Var> vars) const;

  /// Finishes the pipeline: `output` computes the result as the buffer stores it (see `stored`), over
  /// `argument`.
  BuiltKernel finish(Func output, const Argument& argument);

 private:
  /// Computes the prologue of a contraction, the elementwise nodes before it, where the contraction reads it.
  void compute_prologue();

  /// Sets the sizes and strides of an argument, as the pipeline sees it.
  void set_dims(Halide::OutputImageParam param, const Argument& argument) const;

  const Kernel& kernel_;
  const Mapping mapping_;
  const OuterLoops outer_loops_;
  const Var place_{"place"};
  std::vector<Halide::Param<int>> symbols_;  // open sizes
  std::vector<Operand> operands_;            // indexed by the body's values
  std::vector<Halide::ImageParam> params_;
};

/// Checks whether the value is in memory, with the channels of a pixel contiguous.
bool has_dense_pixels(const KernelBuilder& builder, ValueId value);

Halide::Type expr_type(DType dtype);
/// Returns the type of an element in memory, where bool is a byte.
Halide::Type storage_type(DType dtype);
Expr stored(Expr value);
/// Returns the least number of a type: -infinity or the least integer; greatest_of returns the greatest one.
Expr least_of(Halide::Type type);
Expr greatest_of(Halide::Type type);
/// Makes one variable per axis.
std::vector<Var> make_vars(size_t count, const char* name);
Exprs to_exprs(const std::vector<Var>& vars);
/// Narrows a size in a kernel. It fits: canonicalize refuses larger tensors.
inline int as_int(int64_t number) { return static_cast<int>(number); }
/// Returns the largest power of two that is at most `extent` and `lanes`.
int vector_factor(int64_t extent, int lanes);

/// Returns the value of an elementwise node from its inputs' values.
Expr build_elementwise(const Isa& isa, const Node& node, const Exprs& inputs, Halide::Type out);
/// Returns an element of a movement node's output.
Expr build_movement(KernelBuilder& builder, const Node& node, const Exprs& index);

/// Returns an index that is read from data, clamped to an axis; a negative one counts from the end.
Expr data_index(Expr raw, const Expr& extent);
/// Returns an element of what a GridSample, or a tap of a deformable convolution, reads.
Expr build_sample(KernelBuilder& builder, const Node& node, const Exprs& index);
/// Returns an element of a table for a Resize.
Expr build_resize_table(const KernelBuilder& builder, const Node& node, const Exprs& index);

BuiltKernel build_pointwise(KernelBuilder& builder);
/// Schedules the loops of an element at a time, in the order of the output's memory, on a processor.
void schedule_pointwise(const KernelBuilder& builder, Func out, const std::vector<Var>& vars);
/// Checks whether the kernel samples an image in tiles of points and channels.
bool samples_in_tiles(const KernelBuilder& builder);
BuiltKernel build_samples(KernelBuilder& builder);
BuiltKernel build_contraction(KernelBuilder& builder);
BuiltKernel build_depthwise(KernelBuilder& builder);
/// Checks whether a depthwise convolution multiplies pairs of taps in registers of words.
bool multiplies_pairs_of_taps(const KernelBuilder& builder);
BuiltKernel build_depthwise_on_words(KernelBuilder& builder);
/// Returns the rows of a depthwise convolution's output that read a copy of some rows of its input, whose
/// elements have so many bytes.
Expr depthwise_rows_of_block(const KernelBuilder& builder, const SymbolicShape& shape, int64_t bytes);
BuiltKernel build_winograd(KernelBuilder& builder);
BuiltKernel build_window(KernelBuilder& builder);
BuiltKernel build_reduction(KernelBuilder& builder);
BuiltKernel build_scan(KernelBuilder& builder);
BuiltKernel build_scatter(KernelBuilder& builder);
BuiltKernel build_fold(KernelBuilder& builder);
BuiltKernel build_routine(KernelBuilder& builder);
BuiltKernel build_attention(KernelBuilder& builder);
BuiltKernel build_recurrence(KernelBuilder& builder);

/// Builds the pipeline of a kernel. May throw Halide::Error.
BuiltKernel build_kernel(const Kernel& kernel, OuterLoops outer_loops = OuterLoops::fused);

}  // namespace intarsia::halide
