// What we know about each operator of the vocabulary: arity, properties, shape rule. One row per operator, in
// the op_table_*.cc files; an operator without a row is foreign.
#pragma once

#include <span>
#include <string_view>

#include "graph/graph.h"

namespace intarsia {

/// What a shape rule sees of its node and what it sets. Input accessors may be called for any index: an
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
  /// True for a sequence, optional or map; `encoded_type` is then its serialized TypeProto.
  bool is_opaque(size_t input) const;
  std::string encoded_type(size_t input) const;
  /// Null when the rank is unknown (or the input is absent).
  const SymbolicShape* shape(size_t input) const;
  /// The input's value if it is known at compile time.
  const Tensor* constant(size_t input) const;
  /// The same as numbers (i32 or i64 tensors), the usual form of axes, shapes, starts, repeats.
  std::optional<std::vector<int64_t>> constant_ints(size_t input) const;

  /// Each output's dtype is always set; without `shape` its rank is unknown. Absent outputs are ignored.
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
  int max_inputs;  // -1: any number
  int min_outputs;
  int max_outputs;
  ShapeRule rule;
  bool elementwise = false;  // output element i depends only on input elements i (after broadcasting)
  bool commutative = false;
  bool deterministic = true;  // false: random or stateful, never folded
};

/// The row of an operator, or null: foreign.
const OpInfo* find_op(std::string_view domain, std::string_view name);

/// Standard operators of older opsets meant other things (broadcasting by attributes, for example).
inline constexpr int oldest_known_opset = 7;

/// The row of a node's operator, or null: foreign, also when the node is older than what the rows describe.
const OpInfo* find_op(const Node& node);
/// All rows, sorted by domain and name.
std::span<const OpInfo> all_ops();

}  // namespace intarsia
