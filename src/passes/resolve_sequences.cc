#include "passes/resolve_sequences.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "graph/op_table.h"
#include "passes/fold_constants.h"

namespace intarsia {
namespace {

/// Element of a sequence: a value, or the part of one between two indices of an axis.
struct Element {
  ValueId value = no_value;
  bool is_part = false, drops_axis = false;
  int64_t axis = 0, start = 0, end = 0;
};
using Elements = std::vector<Element>;

/// Limits of the elements of a sequence, and of all of them and of the nodes, beyond which a framework does
/// better.
constexpr int64_t most_of_sequence = 1024;
constexpr size_t most_of_graph = 1 << 20;

Tensor tensor_of(const std::vector<int64_t>& numbers, bool is_scalar = false) {
  Tensor tensor(DType::i64, is_scalar ? Shape{} : Shape{std::ssize(numbers)});
  std::ranges::copy(numbers, tensor.as<int64_t>().begin());
  return tensor;
}

/// Checks whether the attributes that say how a sequence is cut or joined are integers; others are left for
/// the framework to refuse.
bool has_legal_attributes(const Node& node) {
  return std::ranges::all_of(std::array{"axis", "keepdims", "new_axis"}, [&](const char* name) {
    const AttributeValue* value = node.attributes.find(name);
    return value == nullptr || std::holds_alternative<int64_t>(*value);
  });
}

class SequenceResolver {
 public:
  explicit SequenceResolver(Graph& graph) : graph_(graph) {}

  bool resolve() {
    if (std::ranges::none_of(graph_.nodes, [](const Node& node) { return reads_sequence(node); }))
      return false;
    for (const Value& value : graph_.values) names_.insert(value.name);
    std::vector<Node> nodes = std::move(graph_.nodes);
    graph_.nodes.clear();
    for (Node& node : nodes) {
      if (node.domain.empty() && has_legal_attributes(node)) {
        read_elements(node);
        if (std::optional<Elements> made = elements_of(node)) keep(node.outputs[0], std::move(*made));
      }
      const NodeId id = graph_.add_node(std::move(node));
      if (is_length(id)) replace_length(id);
    }
    return has_replaced_;
  }

 private:
  const Elements* known(ValueId sequence) const {
    const auto at = elements_.find(sequence);
    return at == elements_.end() ? nullptr : &at->second;
  }

  void keep(ValueId sequence, Elements elements) {
    if (std::ssize(elements) > most_of_sequence || total_ + elements.size() > most_of_graph) return;
    total_ += elements.size();
    elements_.emplace(sequence, std::move(elements));
  }

  /// Returns the place that an optional input names in 0 ... `last`; `otherwise` if it is omitted, nullopt
  /// if it is not known, or outside.
  std::optional<int64_t> place(const Node& node, size_t input, int64_t count, int64_t last,
                               int64_t otherwise) const {
    if (!has_input(node, input)) return otherwise >= 0 ? std::optional(otherwise) : std::nullopt;
    const auto numbers = ShapeContext(graph_, node).known_ints(input);
    if (!numbers || numbers->size() != 1) return std::nullopt;
    const int64_t from_end = (*numbers)[0] < -count ? -1 : (*numbers)[0] + count,
                  found = (*numbers)[0] < 0 ? from_end : (*numbers)[0];
    return found >= 0 && found <= last ? std::optional(found) : std::nullopt;
  }

  /// Returns the elements of the sequence that a node makes, if they are known.
  std::optional<Elements> elements_of(const Node& node) const {
    if (node.outputs.size() != 1 || node.outputs[0] == no_value) return std::nullopt;
    if (node.op == "SequenceEmpty") return Elements();
    if (node.op == "SequenceConstruct") {
      Elements made;
      for (ValueId input : node.inputs) made.push_back({input});
      if (std::ranges::find(node.inputs, no_value) != node.inputs.end()) return std::nullopt;
      return made;
    }
    if (node.inputs.empty()) return std::nullopt;
    if (node.op == "SplitToSequence") return parts_of(node);
    const Elements* from = known(node.inputs[0]);
    if (from == nullptr) return std::nullopt;
    Elements made = *from;
    const int64_t count = std::ssize(made);
    if (node.op == "Identity") return made;
    if (node.op == "SequenceInsert" && has_input(node, 1)) {
      const std::optional<int64_t> at = place(node, 2, count, count, count);
      if (!at) return std::nullopt;
      made.insert(made.begin() + *at, {node.inputs[1]});
      return made;
    }
    if (node.op == "SequenceErase") {
      const std::optional<int64_t> at = place(node, 1, count, count - 1, count - 1);
      if (!at) return std::nullopt;
      made.erase(made.begin() + *at);
      return made;
    }
    return std::nullopt;
  }

  /// Returns the parts into which SplitToSequence cuts an axis of known size.
  std::optional<Elements> parts_of(const Node& node) const {
    const ShapeContext context(graph_, node);
    const SymbolicShape* shape = context.shape(0);
    if (shape == nullptr) return std::nullopt;
    const int64_t rank = std::ssize(*shape);
    int64_t axis = node.attributes.get_int("axis", 0);
    if (axis < -rank || axis >= rank) return std::nullopt;
    if (axis < 0) axis += rank;
    const Dim& size = (*shape)[static_cast<size_t>(axis)];
    if (!size.is_number() || size == 0) return std::nullopt;
    const std::optional<std::vector<int64_t>> sizes = sizes_of_parts(context, size.number());
    if (!sizes) return std::nullopt;
    Elements made;
    int64_t start = 0;
    for (const int64_t part : *sizes) {
      const bool drops_axis = !has_input(node, 1) && node.attributes.get_int("keepdims", 1) == 0;
      made.push_back({node.inputs[0], true, drops_axis, axis, start, start + part});
      start += part;
    }
    return made;
  }

  static std::optional<std::vector<int64_t>> sizes_of_parts(const ShapeContext& context, int64_t size) {
    std::vector<int64_t> given{1};
    bool is_list = false;
    if (context.has_input(1)) {
      const auto numbers = context.known_ints(1);
      const SymbolicShape* shape = context.shape(1);
      if (!numbers || shape == nullptr) return std::nullopt;
      given = *numbers, is_list = !shape->empty();
    }
    if (!is_list) {
      if (given.size() != 1 || given[0] <= 0 || size / given[0] >= most_of_sequence) return std::nullopt;
      std::vector<int64_t> sizes(static_cast<size_t>(size / given[0]), given[0]);
      if (size % given[0] != 0) sizes.push_back(size % given[0]);
      return sizes;
    }
    int64_t rest = size;
    for (const int64_t part : given) {
      if (part < 0 || part > rest) return std::nullopt;
      rest -= part;
    }
    return rest == 0 ? std::optional(given) : std::nullopt;
  }

  /// Makes a node that reads known elements one that reads their values.
  void read_elements(Node& node) {
    const Elements* from = node.inputs.empty() ? nullptr : known(node.inputs[0]);
    if (from == nullptr || node.outputs.size() != 1 || node.outputs[0] == no_value) return;
    if (node.op == "SequenceAt" && has_input(node, 1)) {
      const int64_t count = std::ssize(*from);
      if (const auto at = place(node, 1, count, count - 1, -1)) {
        node = reader_of((*from)[static_cast<size_t>(*at)], node);
        has_replaced_ = true;
      }
    } else if (node.op == "ConcatFromSequence" && !from->empty() && node.attributes.has("axis") &&
               graph_.nodes.size() < most_of_graph) {
      join(node, *from);
    }
  }

  /// Returns the node that gives an element in place of a node's output.
  Node reader_of(const Element& element, const Node& node) {
    Node made{node.name, "Identity", "", node.version, {element.value}, node.outputs, {}, {}};
    if (!element.is_part) return made;
    if (element.drops_axis) {
      made.op = "Gather";
      made.inputs.push_back(add_numbers(node, {element.start}, true));
      made.attributes.set("axis", element.axis);
      return made;
    }
    made.op = "Slice";
    for (const int64_t number : {element.start, element.end, element.axis})
      made.inputs.push_back(add_numbers(node, {number}, false));
    return made;
  }

  /// Makes a ConcatFromSequence a Concat of values, which get the new axis first.
  void join(Node& node, const Elements& elements) {
    const int64_t axis = node.attributes.get_int("axis", 0);
    const bool is_new = node.attributes.get_int("new_axis", 0) != 0;
    std::vector<ValueId> values;
    for (const Element& element : elements) {
      ValueId value = element.value;
      if (element.is_part) value = add_node(node, reader_of(element, node));
      if (is_new) {
        Node made{node.name, "Unsqueeze", "", node.version, {value}, {}, {}, {}};
        constexpr int axes_are_input = 13;
        if (node.version < axes_are_input)
          made.attributes.set("axes", std::vector<int64_t>{axis});
        else
          made.inputs.push_back(add_numbers(node, {axis}, false));
        value = add_node(node, std::move(made));
      }
      values.push_back(value);
    }
    Node joined{node.name, "Concat", "", node.version, std::move(values), node.outputs, {}, {}};
    joined.attributes.set("axis", axis);
    node = std::move(joined);
    has_replaced_ = true;
  }

  /// Adds a node before `node`, with an output of its own, which it returns.
  ValueId add_node(const Node& node, Node made) {
    const std::string name = fresh_name(node);
    made.name = name;
    const ValueId output = graph_.add_value(name);
    made.outputs = {output};
    graph_.add_node(std::move(made));
    return output;
  }

  ValueId add_numbers(const Node& node, const std::vector<int64_t>& numbers, bool is_scalar) {
    return graph_.add_constant(fresh_name(node), tensor_of(numbers, is_scalar));
  }

  std::string fresh_name(const Node& node) {
    for (;;) {
      std::string name = fmt::format("{} part {}", graph_.value(node.outputs[0]).name, parts_++);
      if (names_.insert(name).second) return name;
    }
  }

  static bool reads_sequence(const Node& node) {
    constexpr std::array readers{"SequenceAt", "SequenceLength", "ConcatFromSequence"};
    return node.domain.empty() && std::ranges::find(readers, node.op) != readers.end();
  }

  bool is_length(NodeId id) const {
    const Node& node = graph_.node(id);
    return node.op == "SequenceLength" && node.domain.empty() && has_input(node, 0) && has_output(node, 0) &&
           known(node.inputs[0]) != nullptr;
  }

  void replace_length(NodeId id) {
    const int64_t length = std::ssize(*known(graph_.node(id).inputs[0]));
    detach_outputs(graph_, id, {tensor_of({length}, true)});
    has_replaced_ = true;
  }

  Graph& graph_;
  std::set<std::string> names_;           // of all values
  std::map<ValueId, Elements> elements_;  // of the sequences that are known
  size_t total_ = 0, parts_ = 0;
  bool has_replaced_ = false;
};

}  // namespace

bool resolve_sequences(Graph& graph) { return SequenceResolver(graph).resolve(); }

}  // namespace intarsia
