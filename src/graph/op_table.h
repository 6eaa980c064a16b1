// Table of the known operators: arity, properties, shape rule. One row per operator, in the op_table_*.cc
// files; an operator without a row is foreign.
#pragma once

#include <span>
#include <string_view>

#include "graph/graph.h"

namespace intarsia {

/// Limit of shape arithmetic: tensors with more elements are data.
inline constexpr int64_t most_elements = 64;

/// View of a node for a shape rule, which reads inputs and sets outputs. Input accessors accept any index: an
/// absent input has no type and no constant.
class ShapeContext {
 public:
  ShapeContext(Graph& graph, const Node& node) : graph_(graph), node_(node) {}

  const Node& node() const { return node_; }
  const Attributes& attributes() const { return node_.attributes; }
  int version() const { return node_.version; }  // opset version: rules follow the form of that version
  size_t input_count() const { return node_.inputs.size(); }
  size_t output_count() const { return node_.outputs.size(); }
  bool has_input(size_t i) const;
  bool has_output(size_t i) const;

  DType dtype(size_t input) const;
  /// Checks for a sequence, optional or map; `encoded_type` is then its serialized TypeProto.
  bool is_opaque(size_t input) const;
  std::string encoded_type(size_t input) const;
  /// Returns the input's shape; null if the rank is unknown or the input is absent.
  const SymbolicShape* shape(size_t input) const;
  /// Returns the input's value; null unless it is known at compile time.
  const Tensor* constant(size_t input) const;
  /// Returns the elements of an i32 or i64 input if all are known numbers, the usual form of axes and steps.
  std::optional<std::vector<int64_t>> known_ints(size_t input) const;
  /// Returns the elements of an integer or boolean input as sizes, which may be expressions or unknown, the
  /// usual form of shapes, starts and repeats; nullopt if nothing is known, or the tensor is large.
  std::optional<std::vector<Dim>> elements(size_t input) const;
  /// Returns an output's shape as set before; null if the rank is unknown or the output is absent.
  const SymbolicShape* output_shape(size_t output) const;

  /// Sets an output's type. Without `shape` its rank is unknown. Absent outputs are ignored.
  void set_output(size_t output, DType dtype, std::optional<SymbolicShape> shape = std::nullopt);
  void set_opaque_output(size_t output, std::string encoded_type = {});

 private:
  Graph& graph_;
  const Node& node_;
};

/// Sets the types of all outputs from what is known about the inputs, or says why the node is invalid (a
/// user's mistake). Unknown input ranks or sizes give unknown output ranks or sizes, never an error.
using ShapeRule = Status (*)(ShapeContext&);

struct OpInfo {
  std::string_view name;
  std::string_view domain;  // "" is ai.onnx
  int min_inputs;
  int max_inputs;  // -1 for any number
  int min_outputs;
  int max_outputs;
  ShapeRule rule;
  bool elementwise = false;  // output element i depends only on input elements i (after broadcasting)
  bool commutative = false;
  bool deterministic = true;  // false for random or stateful operators, which are never folded
  bool is_work = false;       // product, convolution, attention or recurrence: takes longer than a hand-over
};

/// Marks a row as work.
constexpr OpInfo work(OpInfo row) {
  row.is_work = true;
  return row;
}

/// Returns the row of an operator, or null if it is foreign.
const OpInfo* find_op(std::string_view domain, std::string_view name);

/// Oldest opset that the rows describe; standard operators of older ones differ in meaning (broadcasting by
/// attributes, for example).
inline constexpr int oldest_known_opset = 7;

/// Returns the row of a node's operator, or null if it is foreign or the node is older than the rows
/// describe.
const OpInfo* find_op(const Node& node);
/// Returns all rows, sorted by domain and name.
std::span<const OpInfo> all_ops();

}  // namespace intarsia
