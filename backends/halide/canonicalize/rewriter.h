// Construction of a region's canonical graph: each source node is rewritten into core operators, one after
// the other.
#pragma once

#include <map>
#include <set>
#include <string>

#include "backends/halide/canonicalize/canonicalize.h"
#include "backends/halide/core/core_attributes.h"
#include "graph/graph.h"

namespace intarsia::halide {

/// What rules do with the numbers that they get: move them, compute with them, or also write constants in
/// another form.
enum class Numbers { moved, computed, prepared };

class Rewriter;

/// Integers of 8 bits, or constants of 4 bits, that stand for numbers: scale * (integer - zero).
struct QuantizedValue {
  ValueId integers = no_value;  // u8
  ValueId scale = no_value;     // constant of f32 with one element, or one for each index of the axis
  ValueId zero = no_value;      // constant of u8 with as many elements
  int64_t axis = 0;
  /// Whether they are constants of the model's types, of 4 bits, in blocks or with scales of 16 bits:
  /// products by them are those of numbers. The zero point may be omitted.
  bool has_few_bits = false;
  int64_t block = 0;  // neighbors along the axis that have one scale; 0 if a scale is for an index, or all
  bool is_swapped = false;  // whether the two axes of a matrix change places
};

/// Rule of a node; null if it has none.
struct FoundRule {
  Status (*rule)(Rewriter& rewriter) = nullptr;
  Numbers numbers = Numbers::computed;
};

/// View of a node for its rewrite rule, which emits new nodes through it. Values named here are values of the
/// new graph, whose sizes are known: numbers, or expressions over open sizes. Core operators take parameters
/// (axes, pads, ...) as attributes and only data as inputs.
///
/// Floats of 16 bits are for memory: a rule that computes gets its inputs as f32 and sets f32 outputs, each
/// of which is then rounded.
///
/// Numbers that integers stand for are made where a node reads them, so that they are computed within its
/// kernel; rules that compute with the integers leave them unread.
class Rewriter {
 public:
  explicit Rewriter(const Graph& source);

  const Node& node() const { return *node_; }
  const Attributes& attributes() const { return node_->attributes; }
  int version() const { return node_->version; }
  bool has_input(size_t i) const { return intarsia::has_input(*node_, i); }
  /// Returns an input: for rules that compute as numbers of compute_dtype().
  ValueId in(size_t i) const;
  /// Returns an input with the dtype that the node has.
  ValueId stored_in(size_t i) const { return mapped_[index(node_->inputs[i])]; }
  /// Returns the integers that an input stands for; null if it is none that DequantizeLinear makes.
  const QuantizedValue* quantized_in(size_t i);
  /// Returns an input as the source has it.
  const Value& source(size_t i) const { return source_.value(node_->inputs[i]); }
  /// Returns an integer input of 8 bits as u8: an i8 is 128 more.
  ValueId unsigned_in(size_t i);
  /// Returns integers of u8 as i8, which are 128 less.
  ValueId as_signed(ValueId integers);
  DType dtype(ValueId value) const { return graph_.value(value).type.dtype; }
  const SymbolicShape& sizes(ValueId value) const { return sizes_of(graph_, value); }
  /// Returns the sizes of a value as numbers. If one is open, the node is refused: its rule is for numbers.
  Shape shape(ValueId value) const { return numbers(sizes(value)); }
  int64_t rank(ValueId value) const { return static_cast<int64_t>(graph_.value(value).type.shape->size()); }
  const Tensor* constant(ValueId value) const;
  /// Returns the dtype of an output: for rules that compute the compute_dtype() of the node's.
  DType out_dtype(size_t i = 0) const;
  DType stored_out_dtype(size_t i = 0) const { return source_.value(node_->outputs[i]).type.dtype; }
  const SymbolicShape& out_sizes(size_t i = 0) const;
  Shape out_shape(size_t i = 0) const { return numbers(out_sizes(i)); }

  /// Returns an integer input that must be known at compile time, or its attribute form; `otherwise` if
  /// neither is present.
  Result<std::vector<int64_t>> ints(std::string_view attribute, size_t input,
                                    std::vector<int64_t> otherwise) const;
  /// Returns the same as sizes, which may also be elements that follow from open sizes.
  Result<SymbolicShape> size_input(std::string_view attribute, size_t input) const;
  /// Returns a scalar input (or attribute) that must be known at compile time; `otherwise` if neither is
  /// present.
  Result<double> scalar(std::string_view attribute, size_t input, double otherwise) const;
  /// Normalizes an axis that may count from the end to 0 ... rank - 1.
  Result<int64_t> axis(int64_t axis, int64_t rank) const;

  /// Appends a core operator; its output has this dtype and these sizes. Elementwise operators get default
  /// parameters if none are given.
  ValueId emit(CoreOp op, std::vector<ValueId> inputs, DType dtype, SymbolicShape sizes,
               const CoreAttributes& attributes = {});
  ValueId emit(CoreOp op, std::vector<ValueId> inputs, DType dtype, const Shape& shape,
               const CoreAttributes& attributes = {}) {
    return emit(op, std::move(inputs), dtype, to_symbolic(shape), attributes);
  }
  /// Appends an elementwise operator whose output has the shape to which the inputs broadcast and the first
  /// one's dtype.
  ValueId emit_elementwise(CoreOp op, std::vector<ValueId> inputs, const CoreAttributes& attributes = {});
  ValueId reshape(ValueId value, const SymbolicShape& sizes);
  ValueId transpose(ValueId value, std::vector<int64_t> perm);
  /// Transposes a constant now, so that its elements are in that order in memory; else as transpose().
  ValueId transpose_constant(ValueId value, const std::vector<int64_t>& perm);
  /// Returns a value as another dtype; itself if it has that one.
  ValueId converted(ValueId value, DType dtype);
  ValueId add_constant(Tensor tensor);
  /// Adds a constant scalar of this dtype (float or integer).
  ValueId add_scalar(double number, DType dtype);
  /// Returns a per-channel vector as [C,1,1...] so that it broadcasts along axis 1 of a tensor of this rank.
  ValueId channel_vector(ValueId vector, int64_t rank);

  /// Sets an output, rounded to the node's dtype if that is a float of 16 bits.
  void set_output(size_t i, ValueId value);
  /// Sets an output to numbers that integers stand for.
  void set_quantized(size_t i, const QuantizedValue& value);
  /// Sets an output of u8 or i8 to integers of u8, which are 128 more than those of i8.
  void set_unsigned(size_t i, ValueId value);
  /// Runs a rule that moves numbers on the integers that they stand for; outputs have the quantization of
  /// the first input.
  Status move_integers(Status (*rule)(Rewriter& rewriter));

  /// Fails unless a value broadcasts to these sizes, which stay as they are.
  Status require_broadcast(ValueId value, const SymbolicShape& to) const;
  /// Asks that an expression be 0 or more, which a run checks unless it is known. Fails if it never is.
  Status require(const Dim& nonnegative, std::string why);
  const std::vector<SizeRequirement>& requirements() const { return requirements_; }

  /// Rewrites every node by the rule that `find_rule` returns; fails with the reason of the first that cannot
  /// be rewritten.
  using Rule = Status (*)(Rewriter& rewriter);
  Result<Graph> rewrite(FoundRule (*find_rule)(const Node& node));
  /// Computes the numbers of an input if it is one that integers stand for.
  void dequantize_input(size_t i);

 private:
  void close_outputs();
  /// Rewrites the node by its rule, or on integers.
  Status apply(Rule rule);
  /// Computes the numbers of inputs that integers stand for, before its rule refers to any value.
  void dequantize_inputs();
  /// Widens the node's inputs of 16 bits, before its rule refers to any value.
  void widen_inputs();
  /// Returns the numbers of a value of 16 bits as f32.
  ValueId widened(ValueId half);
  ValueId dequantized(const QuantizedValue& value);
  /// Rewrites a node whose output's elements follow from sizes that a run tells; returns false for others.
  bool rewrite_elements();
  Shape numbers(const SymbolicShape& sizes) const;

  const Graph& source_;
  Graph graph_;
  const Node* node_ = nullptr;
  Numbers numbers_ = Numbers::computed;  // what the node's rule does
  std::map<ValueId, ValueId> widened_;   // the node's inputs of 16 bits, as f32
  std::vector<ValueId> mapped_;          // source value -> new value
  // Source values that integers stand for, and those of i8 as u8. A value of the first is in `mapped_` only
  // while a node reads it.
  std::map<ValueId, QuantizedValue> quantized_;
  std::map<ValueId, ValueId> unsigned_;
  bool moves_integers_ = false;
  std::vector<SizeRequirement> requirements_;
  size_t names_ = 0;
  const std::set<std::string> told_;    // open sizes that a run can tell
  mutable bool needs_numbers_ = false;  // whether the rule works only where open sizes are numbers
};

/// Rule of the table that `find_rule` searches.
struct RuleEntry {
  std::string_view op;
  Rewriter::Rule rule;
};

}  // namespace intarsia::halide
