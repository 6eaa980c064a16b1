// View of the foreign node that a rule translates, and helpers to add our operators.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "graph/graph.h"
#include "tensorflow/attributes.h"

namespace intarsia {

/// Opset version that translated nodes are written for.
inline constexpr int translated_opset = 21;

/// Elements of the largest constant that a rule computes.
inline constexpr int64_t max_made_elements = 1 << 24;

/// Maps values of one graph to values of another.
using ValueMap = std::map<ValueId, ValueId>;

class Translation {
 public:
  using NamedAttributes = std::vector<std::pair<std::string, AttributeValue>>;

  Translation(const Graph& from, const Node& node, Graph& to, ValueMap& values)
      : from_(from), node_(node), to_(to), values_(values) {}

  const Node& node() const { return node_; }
  const Attributes& attributes() const { return node_.attributes; }
  size_t input_count() const { return node_.inputs.size(); }
  bool has_input(size_t i) const { return intarsia::has_input(node_, i); }
  bool wants_output(size_t i) const { return has_output(node_, i); }

  /// Returns the input in the new graph; no_value if the node has fewer, which lacks_input then reports.
  ValueId input(size_t i);
  bool lacks_input() const { return lacks_input_; }
  std::vector<ValueId> inputs(size_t first = 0);
  const ValueType& type(size_t i) const;
  DType dtype(size_t i) const { return type(i).dtype; }
  /// Returns facts about input `i`; these functions fail with the reason if they are unknown at compile time.
  Result<Shape> shape(size_t i) const;
  /// Returns the sizes of input `i`, numbers or expressions.
  Result<SymbolicShape> sizes(size_t i) const;
  /// Returns the integers in input `i`, which may follow from sizes.
  Result<std::vector<Dim>> elements(size_t i) const;
  Result<int64_t> rank(size_t i) const;
  Result<Tensor> constant(size_t i) const;
  Result<std::vector<int64_t>> integers(size_t i) const;
  Result<int64_t> integer(size_t i) const;
  bool is_constant(size_t i) const;

  /// Adds a node of the standard domain and returns its (first) output.
  ValueId make(const std::string& op, std::vector<ValueId> inputs, NamedAttributes attributes = {});
  std::vector<ValueId> make_several(const std::string& op, std::vector<ValueId> inputs, size_t outputs,
                                    NamedAttributes attributes = {});
  /// Adds a node of another domain with one output, in that version of its operators.
  ValueId make_of_domain(const std::string& domain, const std::string& op, int version,
                         std::vector<ValueId> inputs, Attributes attributes);
  /// Adds a node of our own domain.
  std::vector<ValueId> make_own(const std::string& op, std::vector<ValueId> inputs, size_t outputs,
                                NamedAttributes attributes = {});
  ValueId make_constant(Tensor tensor);
  ValueId make_integers(const std::vector<int64_t>& values);
  /// Returns input `i`, a shape or the like, as i64.
  ValueId integers_input(size_t i);
  /// Adds a scalar of an integer or floating-point type.
  ValueId make_scalar(DType dtype, double value);
  /// Returns the size of an axis, which may be open, as i64 [1].
  ValueId size_of(ValueId value, int64_t axis);
  /// Joins parts of a shape, i64 of one axis each.
  ValueId join(std::vector<ValueId> parts);
  /// Returns 0, 1, ... size - 1 as i64; the size is i64 [1].
  ValueId count_up(ValueId size);
  /// Returns elements first ... end - 1 of an axis; an end of `max` is the axis's.
  ValueId slice(ValueId value, int64_t axis, int64_t first, int64_t end);
  /// Returns an input as the type that results are computed in: f32 for floats of 16 bits.
  ValueId computed(size_t i);
  ValueId transpose(ValueId value, const std::vector<int64_t>& permutation);
  ValueId reshape(ValueId value, const Shape& shape);
  ValueId cast(ValueId value, DType to);
  ValueId unsqueeze(ValueId value, const std::vector<int64_t>& axes);

  /// Declares that `value` is the node's output `i`.
  void give(size_t i, ValueId value);

 private:
  /// Adds a node, under the source's name, with so many outputs.
  std::vector<ValueId> add(Node node, size_t outputs);

  const Graph& from_;
  const Node& node_;
  Graph& to_;
  ValueMap& values_;
  bool lacks_input_ = false;
};

/// Adds nodes that compute what the node does, or fails with the reason why it has no translation.
using TranslationRule = Status (*)(Translation&);

/// Returns the type in which numbers of a type are computed: f32 for floats of 16 bits.
DType computed_type(DType dtype);

/// Counts an axis from the start: -1 of a tensor of rank 4 is 3; fails out of range.
Result<int64_t> normal_axis(int64_t axis, int64_t rank);

}  // namespace intarsia
