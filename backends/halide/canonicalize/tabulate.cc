#include "backends/halide/canonicalize/tabulate.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "backends/halide/core/core_attributes.h"

namespace intarsia::halide {
namespace {

/// Number of elements from which on a table pays.
constexpr int64_t min_elements = 2048;
/// Work of a function, in additions, from which on looking it up is faster. A quantization has a division.
constexpr int min_work = 24;

int work_of(CoreOp op) {
  switch (op) {
    case CoreOp::quantize:
      return 10;
    case CoreOp::div:
    case CoreOp::sqrt:
    case CoreOp::reciprocal:
    case CoreOp::hard_sigmoid:
    case CoreOp::hard_swish:
      return 6;
    default:
      return op >= CoreOp::sin && op != CoreOp::leaky_relu && op != CoreOp::thresholded_relu &&
                     op != CoreOp::shrink
                 ? 20
                 : 2;
  }
}

class Tabulator {
 public:
  explicit Tabulator(Graph& graph) : graph_(graph), roots_(graph.values.size(), no_value) {
    for (const Value& value : graph.values) makers_.push_back(value.producer);
  }

  void run() {
    for (size_t n = 0; n < graph_.nodes.size(); ++n) find_root(NodeId(n));
    const std::vector<std::vector<NodeId>> readers = find_readers(graph_);
    const std::vector<Node> nodes = std::move(graph_.nodes);
    graph_.nodes.clear();
    for (size_t n = 0; n < nodes.size(); ++n) {
      const Node& node = nodes[n];
      const ValueId output = node.outputs[0];
      if (is_exit(output, readers, nodes) && work(output, nodes) >= min_work)
        add_table(output, nodes);
      else
        add(node);
    }
  }

 private:
  bool is_u8(ValueId value) const { return graph_.value(value).type.dtype == DType::u8; }

  bool is_scalar_constant(ValueId value) const {
    const auto& constant = graph_.value(value).constant;
    return constant && element_count(constant->shape()) == 1;
  }

  bool is_large(ValueId value) const {
    return element_count(typical_shape(sizes_of(graph_, value))) >= min_elements;
  }

  /// Finds the integers of 8 bits of which a node's output is a function, element by element: an input, or
  /// what that is a function of.
  void find_root(NodeId id) {
    const Node& node = graph_.node(id);
    if (form_of(node) != Form::elementwise) return;
    std::set<ValueId> roots;
    for (ValueId input : node.inputs) {
      if (is_scalar_constant(input)) continue;
      const ValueId known = index(input) < roots_.size() ? roots_[index(input)] : no_value;
      const ValueId root = known != no_value ? known : input;
      if (!is_u8(root) || graph_.value(root).constant) return;
      roots.insert(root);
    }
    if (roots.size() != 1 || !is_large(*roots.begin())) return;
    if (sizes_of(graph_, *roots.begin()) == sizes_of(graph_, node.outputs[0]))
      roots_[index(node.outputs[0])] = *roots.begin();
  }

  /// Checks whether a function's values are integers of 8 bits that more reads than such functions.
  bool is_exit(ValueId value, const std::vector<std::vector<NodeId>>& readers,
               const std::vector<Node>& nodes) const {
    return roots_[index(value)] != no_value && is_u8(value) && !stays_inside(value, readers, nodes);
  }

  /// Checks whether only functions of the same integers read the values, and lead to integers of 8 bits.
  bool stays_inside(ValueId value, const std::vector<std::vector<NodeId>>& readers,
                    const std::vector<Node>& nodes) const {
    if (std::ranges::find(graph_.outputs, value) != graph_.outputs.end()) return false;
    return std::ranges::all_of(readers[index(value)], [&](NodeId reader) {
      const ValueId made = nodes[index(reader)].outputs[0];
      if (roots_[index(made)] != roots_[index(value)]) return false;
      return is_u8(made) || stays_inside(made, readers, nodes);
    });
  }

  /// Adds up the work of the nodes that make a function's values.
  int work(ValueId value, const std::vector<Node>& nodes) const {
    int sum = 0;
    for (size_t n : nodes_of(value, nodes)) sum += work_of(op_of(nodes[n]));
    return sum;
  }

  /// Returns the nodes between the root and a function's values, in order.
  std::vector<size_t> nodes_of(ValueId value, const std::vector<Node>& nodes) const {
    std::set<size_t> found;
    std::vector<ValueId> open{value};
    while (!open.empty()) {
      const ValueId next = open.back();
      open.pop_back();
      if (index(next) >= roots_.size() || roots_[index(next)] == no_value) continue;
      const size_t maker = index(makers_[index(next)]);
      if (!found.insert(maker).second) continue;
      open.insert(open.end(), nodes[maker].inputs.begin(), nodes[maker].inputs.end());
    }
    return {found.begin(), found.end()};
  }

  void add(Node node) {
    graph_.value(node.outputs[0]).producer = NodeId(graph_.nodes.size());
    graph_.nodes.push_back(std::move(node));
  }

  /// Adds nodes that compute the function of each integer, and one that looks up the values.
  void add_table(ValueId value, const std::vector<Node>& nodes) {
    const ValueId root = roots_[index(value)];
    std::map<ValueId, ValueId> of_integers{{root, integers()}};
    for (size_t n : nodes_of(value, nodes)) {
      Node node = nodes[n];
      for (ValueId& input : node.inputs)
        input = is_scalar_constant(input) ? scalar(input) : of_integers.at(input);
      const ValueId made = graph_.add_value(fmt::format("table{}", graph_.values.size()),
                                            {graph_.value(node.outputs[0]).type.dtype, SymbolicShape{256}});
      of_integers[node.outputs[0]] = made;
      node.outputs = {made};
      add(std::move(node));
    }
    const std::string& name = nodes[index(makers_[index(value)])].name;
    add(make_node(name, CoreOp::gather, {of_integers.at(value), root}, {value}, AxisAttributes{0}));
  }

  /// Returns the constant 0, 1, ... 255.
  ValueId integers() {
    if (integers_ == no_value) {
      Tensor all(DType::u8, {256});
      std::iota(all.as<uint8_t>().begin(), all.as<uint8_t>().end(), uint8_t{0});
      integers_ = graph_.add_constant(fmt::format("integers{}", graph_.values.size()), std::move(all));
    }
    return integers_;
  }

  /// Returns a constant of one element without axes.
  ValueId scalar(ValueId constant) {
    const Tensor tensor = *graph_.value(constant).constant;
    if (tensor.shape().empty()) return constant;
    return graph_.add_constant(fmt::format("scalar{}", graph_.values.size()),
                               Tensor(TensorView{tensor.data(), tensor.dtype(), {}}, tensor.owner()));
  }

  Graph& graph_;
  // Indexed by the values before any change: the integers that a value is a function of, and the node that
  // makes it.
  std::vector<ValueId> roots_;
  std::vector<NodeId> makers_;
  ValueId integers_ = no_value;
};

}  // namespace

void tabulate(Graph& graph) { Tabulator(graph).run(); }

}  // namespace intarsia::halide
