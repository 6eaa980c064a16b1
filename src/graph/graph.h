// The only intermediate representation: nodes and values in dense arrays, referred to by ids. A Graph is a
// value: it can be copied, compared and printed. Nodes are in topological order (verify_graph checks it).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/attributes.h"
#include "base/requested_shape.h"
#include "base/shape.h"
#include "base/tensor_view.h"

namespace intarsia {

enum class NodeId : uint32_t {};
enum class ValueId : uint32_t {};
inline constexpr NodeId no_node{0xffffffff};
inline constexpr ValueId no_value{0xffffffff};  // an omitted optional input or output
constexpr size_t index(NodeId id) { return static_cast<size_t>(id); }
constexpr size_t index(ValueId id) { return static_cast<size_t>(id); }

/// Facts known about a value. `shape` is absent while even the rank is unknown. An opaque value (sequence,
/// optional, map) is not a tensor: it only passes between nodes of one framework; `encoded` is its serialized
/// ONNX TypeProto.
struct ValueType {
  DType dtype = DType::undefined;
  std::optional<SymbolicShape> shape;
  bool opaque = false;
  std::string encoded;
  /// Elements of an integer or boolean scalar or vector that is computed from sizes, as far as they are
  /// known; absent for all other values.
  std::optional<std::vector<Dim>> elements = {};
  bool operator==(const ValueType&) const = default;

  /// Returns the sizes if all are numbers.
  std::optional<Shape> fixed_shape() const { return shape ? static_shape(*shape) : std::nullopt; }
  /// Returns the bytes of its elements, if these are numbers or bits and all sizes are known.
  std::optional<uint64_t> fixed_bytes() const;
};

/// Prints "f32[batch,3,224,224]", "i64[?]", "f32[*]" for unknown rank, "opaque". Elements are left out.
std::string print_type(const ValueType& type);

struct FoldedNode;

/// Meaning of integers: scale * (integer - zero point).
struct Quantization {
  std::vector<float> scales;         // a single scale, or one per index of an axis
  std::vector<int64_t> zero_points;  // as many as scales
  int64_t axis = 0;                  // axis as in the model; negative axes count from the last
  bool operator==(const Quantization&) const = default;
};

struct Value {
  std::string name;  // the source's name; unique in the graph
  ValueType type;
  NodeId producer = no_node;       // none for inputs and constants
  std::optional<Tensor> constant;  // present if the value is known at compile time
  /// Node that made a constant in the source, if it is derived from a dequantized one. Frameworks get that
  /// node, since they compute in the quantized numbers.
  std::shared_ptr<const FoldedNode> folded = {};
  std::shared_ptr<const Quantization> quantization = {};  // null if it has none, or it is unknown
  bool operator==(const Value&) const = default;
};

struct Node {
  std::string name;    // the source's node name, or derived from its first output's
  std::string op;      // ONNX operator name, or a foreign one
  std::string domain;  // "" is ai.onnx
  int version = 0;     // opset version of `domain` that the node was written for
  std::vector<ValueId> inputs;
  std::vector<ValueId> outputs;
  std::vector<ValueId> captures;  // outer values that the node's subgraphs (If, Loop, Scan) read by name
  Attributes attributes;
  bool operator==(const Node&) const = default;
};

/// A node that was removed from its graph, with its inputs as they were. Its output ids are meaningless.
struct FoldedNode {
  Node node;
  std::vector<Value> inputs;  // indexed by input number; one without a name is omitted
};

/// Named size of inputs that stays open until a program runs.
struct OpenSize {
  std::string name;  // symbol of expressions: "batch"
  SizeRange range;
  std::vector<int64_t> tuned = {};      // sizes to be fastest at, within the range
  bool by_default = false;              // whether it stays open only since no shape mentions it
  std::optional<int64_t> planned = {};  // size to plan and to measure with, if it is not the first of `tuned`
  bool operator==(const OpenSize&) const = default;

  /// Returns the size to plan and to measure with: `planned`, else the first to be fastest at, else the
  /// smallest of 1 or more.
  int64_t tuned_size() const;
};

struct Graph {
  std::string name;
  std::map<std::string, int> opsets;  // domain -> version, as the model declares them
  std::vector<Value> values;
  std::vector<Node> nodes;
  std::vector<ValueId> inputs;
  std::vector<ValueId> outputs;
  std::vector<OpenSize> open_sizes = {};  // bound by the shapes of inputs when a program runs
  /// Compares by names, not by ids: the same values (types, constants) in any order, and the same nodes in
  /// the same order, connected by values of the same names.
  bool operator==(const Graph&) const;

  Value& value(ValueId id) { return values[index(id)]; }
  const Value& value(ValueId id) const { return values[index(id)]; }
  Node& node(NodeId id) { return nodes[index(id)]; }
  const Node& node(NodeId id) const { return nodes[index(id)]; }

  /// Returns a value's sizes where open sizes are those to plan with; nullopt if one depends on data.
  std::optional<Shape> planned_shape(ValueId id) const;
  /// Returns its bytes then, if it consists of numbers or bits.
  std::optional<uint64_t> planned_bytes(ValueId id) const;
  /// Returns the numbers of open sizes that memory is counted with (SizeRange::counted).
  std::map<std::string, Dim> counted_sizes() const;
  /// Returns the bytes of a value with these numbers, if it consists of numbers or bits and no size depends
  /// on data; the largest number where they fit no memory.
  std::optional<uint64_t> bytes_at(ValueId id, const std::map<std::string, Dim>& sizes) const;

  ValueId add_value(std::string name, ValueType type = {});
  ValueId add_constant(std::string name, Tensor tensor);
  /// Appends the node and makes it the producer of its outputs.
  NodeId add_node(Node node);
};

/// Checks whether the i-th input (or output) exists and is not omitted.
bool has_input(const Node& node, size_t i);
bool has_output(const Node& node, size_t i);

/// Returns everything the node reads: inputs that are not omitted, then captures.
std::vector<ValueId> values_read(const Node& node);

/// Replaces the sizes and elements in the types of all values.
void replace_sizes(Graph& graph, const std::function<Dim(const Dim&)>& replace);

/// Returns, for every value, the nodes that read it, in order, each once.
std::vector<std::vector<NodeId>> find_readers(const Graph& graph);

/// Sorts the nodes topologically (stable: the lowest id first) or fails and names a node on a cycle.
Status sort_nodes(Graph& graph);

/// Values that a part of a graph exchanges with the rest of it.
struct Boundary {
  std::vector<ValueId> inputs;   // read inside, produced outside, no constants; in the order of reading
  std::vector<ValueId> outputs;  // produced inside, read outside or outputs of the graph
};

/// Finder of the boundaries of many parts of one graph, which outlives it and does not change.
class BoundaryFinder {
 public:
  explicit BoundaryFinder(const Graph& graph);
  /// Finds the boundary of `nodes`, whose ids ascend.
  Boundary find(const std::vector<NodeId>& nodes) const;

 private:
  const Graph& graph_;
  std::vector<std::vector<NodeId>> readers_;
  std::vector<bool> is_output_;
};

/// Returns Boundary::inputs of these nodes (ids ascending).
std::vector<ValueId> find_boundary_inputs(const Graph& graph, const std::vector<NodeId>& nodes);

/// Returns the graph of these nodes alone (ids ascending) with their boundary as its inputs and outputs;
/// constants come along. Names of values and nodes stay.
Graph extract_subgraph(const Graph& graph, const std::vector<NodeId>& nodes, const Boundary& boundary);

}  // namespace intarsia
