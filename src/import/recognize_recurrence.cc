#include "import/recognize_recurrence.h"

#include <algorithm>
#include <set>

#include "import/match_rnn_cell.h"
#include "tensorflow/composite.h"

namespace intarsia {
namespace {

using namespace tensorflow;

/// Returns the function that an attribute of the node names, from the node's library.
Result<std::optional<FunctionDef>> find_function_of(const Node& node, const char* attribute) {
  const AttributeValue* library = node.attributes.find(library_attribute);
  const auto* encoded = library ? std::get_if<EncodedAttribute>(library) : nullptr;
  if (encoded == nullptr) return std::nullopt;
  return find_function(encoded->bytes, node.attributes, attribute);
}

/// A loop and the nodes that pack and unpack its lists.
struct Loop {
  NodeId loop = no_node, pack = no_node, reserve = no_node,
         unpack = no_node;  // unpack is no_node if nothing reads the list
  CellMatch cell;
  std::vector<ValueId>
      bounds;  // values that the number of steps must not exceed; constants were added to the graph
  std::set<NodeId> members() const {
    std::set<NodeId> all{pack, reserve, loop};
    if (unpack != no_node) all.insert(unpack);
    return all;
  }
};

class LoopFinder {
 public:
  explicit LoopFinder(Graph& graph) : graph_(graph), readers_(find_readers(graph)) {
    for (ValueId output : graph.outputs) outputs_.insert(output);
  }

  Result<std::optional<Loop>> find(NodeId id) {
    const Node& node = graph_.node(id);
    if (node.op != "While" && node.op != "StatelessWhile") return std::nullopt;
    const std::optional<FunctionDef> body = TRY(find_function_of(node, "body")),
                                     condition = TRY(find_function_of(node, "cond"));
    if (!body || !condition || body->signature.inputs.size() != node.inputs.size() ||
        body->signature.outputs.size() != node.inputs.size())
      return std::nullopt;
    const FunctionMatcher body_matcher(*body), condition_matcher(*condition);
    const std::optional<CellMatch> cell = match_cell(body_matcher);
    if (!cell) return std::nullopt;
    Loop loop{.loop = id, .cell = *cell, .bounds = {}};
    if (!starts_at_zero(node, find_counters(body_matcher)) || !find_lists(node, loop)) return std::nullopt;
    const auto bounds = match_bounds(condition_matcher, find_counters(body_matcher));
    if (!bounds || bounds->empty()) return std::nullopt;
    for (const Term& bound : *bounds) loop.bounds.push_back(value_of_bound(node, condition_matcher, bound));
    return loop;
  }

 private:
  bool starts_at_zero(const Node& node, const std::vector<int>& counters) const {
    return std::ranges::all_of(counters, [&](int counter) {
      const std::optional<Tensor>& start = graph_.value(node.inputs[static_cast<size_t>(counter)]).constant;
      return start && start->dtype() == DType::i32 && start->shape().empty() && start->as<int32_t>()[0] == 0;
    });
  }

  NodeId producer(ValueId value, const char* op) const {
    const NodeId id = graph_.value(value).producer;
    return id != no_node && graph_.node(id).op == op ? id : no_node;
  }

  bool has_one_reader(ValueId value) const {
    return readers_[index(value)].size() == 1 && !outputs_.contains(value);
  }

  /// Checks that the lists come from and go to nodes that do nothing else, and that nothing else reads values
  /// that only the loop needs.
  bool find_lists(const Node& node, Loop& loop) const {
    const ValueId elements = node.inputs[static_cast<size_t>(loop.cell.elements)],
                  list = node.inputs[static_cast<size_t>(loop.cell.list)];
    loop.pack = producer(elements, "TensorListFromTensor");
    loop.reserve = producer(list, "TensorListReserve");
    if (loop.pack == no_node || loop.reserve == no_node || !has_one_reader(elements) || !has_one_reader(list))
      return false;
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      const ValueId output = node.outputs[i];
      if (output == no_value || static_cast<int>(i) == loop.cell.h || static_cast<int>(i) == loop.cell.c)
        continue;
      const auto& readers = readers_[index(output)];
      if (readers.empty() && !outputs_.contains(output)) continue;
      if (static_cast<int>(i) != loop.cell.list || readers.size() != 1 ||
          graph_.node(readers[0]).op != "TensorListStack")
        return false;
      loop.unpack = readers[0];
    }
    return true;
  }

  ValueId value_of_bound(const Node& node, const FunctionMatcher& condition, const Term& bound) {
    if (bound.argument >= 0) return node.inputs[static_cast<size_t>(bound.argument)];
    Tensor constant(DType::i64, {});
    constant.as<int64_t>()[0] = *condition.integer(bound);
    return graph_.add_constant(fmt::format("{}/bound/{}", node.name, graph_.values.size()),
                               std::move(constant));
  }

  Graph& graph_;
  std::vector<std::vector<NodeId>> readers_;
  std::set<ValueId> outputs_;
};

/// Joins the loop's nodes into one.
class LoopJoiner {
 public:
  LoopJoiner(const Graph& graph, const Loop& loop) : graph_(graph), loop_(loop) {}

  Result<Node> join() {
    const Node& loop = graph_.node(loop_.loop);
    joined_.name = loop.name;
    joined_.op = loop_.cell.op;
    joined_.domain = "tensorflow";
    joined_.version = 1;
    const auto argument = [&](int i) { return loop.inputs[static_cast<size_t>(i)]; };
    add_input(graph_.node(loop_.pack).inputs[0]);
    add_input(argument(loop_.cell.h));
    if (loop_.cell.c >= 0) add_input(argument(loop_.cell.c));
    add_input(argument(loop_.cell.kernel));
    add_input(argument(loop_.cell.recurrent_kernel));
    if (loop_.cell.bias >= 0) add_input(argument(loop_.cell.bias));
    for (ValueId bound : loop_.bounds) add_input(bound);
    joined_.attributes.set("has_bias", int64_t{loop_.cell.bias >= 0});
    joined_.attributes.set("last_only", int64_t{loop_.cell.last_only});
    if (loop_.cell.op == "GRU") joined_.attributes.set("reset_after", int64_t{loop_.cell.reset_after});
    joined_.attributes.set("bounds", static_cast<int64_t>(loop_.bounds.size()));
    Composite composite;
    for (NodeId member : loop_.members()) composite.nodes.push_back(TRY(write_back(graph_.node(member))));
    add_output(composite, loop_.unpack == no_node ? no_value : graph_.node(loop_.unpack).outputs[0]);
    add_output(composite, output_of(loop, loop_.cell.h));
    if (loop_.cell.c >= 0) add_output(composite, output_of(loop, loop_.cell.c));
    TRY(set_composite(joined_.attributes, composite));
    return std::move(joined_);
  }

 private:
  static ValueId output_of(const Node& node, int i) {
    return has_output(node, static_cast<size_t>(i)) ? node.outputs[static_cast<size_t>(i)] : no_value;
  }

  void add_input(ValueId value) { joined_.inputs.push_back(value); }

  /// Returns a reference: "@3" for values from outside, "node:1" for those inside.
  std::string reference(ValueId value) {
    const NodeId producer = graph_.value(value).producer;
    if (producer != no_node && loop_.members().contains(producer)) {
      const auto& outputs = graph_.node(producer).outputs;
      return fmt::format("{}:{}", graph_.node(producer).name,
                         std::ranges::find(outputs, value) - outputs.begin());
    }
    const auto at = std::ranges::find(joined_.inputs, value);
    const auto number = at - joined_.inputs.begin();
    if (at == joined_.inputs.end()) add_input(value);
    return fmt::format("@{}", number);
  }

  Result<NodeDef> write_back(const Node& node) {
    NodeDef def{node.name, node.op, {}, {}, node.attributes};
    for (ValueId input : node.inputs) def.inputs.push_back(reference(input));
    return def;
  }

  void add_output(Composite& composite, ValueId value) {
    joined_.outputs.push_back(value);
    composite.outputs.push_back(value == no_value ? "" : reference(value));
  }

  const Graph& graph_;
  const Loop& loop_;
  Node joined_;
};

/// Disconnects the loop's nodes and puts the joined one in the loop's place.
void replace(Graph& graph, const Loop& loop, Node joined) {
  for (NodeId member : loop.members()) {
    for (ValueId& output : graph.node(member).outputs) {
      if (output != no_value) graph.value(output).producer = no_node;
      output = no_value;
    }
    graph.node(member).inputs.clear();
  }
  for (ValueId output : joined.outputs) {
    if (output != no_value) graph.value(output).producer = loop.loop;
  }
  graph.node(loop.loop) = std::move(joined);
}

/// Removes the nodes left over from joining, which have no outputs.
void remove_leftovers(Graph& graph, const std::set<NodeId>& leftovers) {
  std::vector<Node> nodes;
  for (uint32_t i = 0; i < graph.nodes.size(); ++i) {
    if (leftovers.contains(NodeId{i})) continue;
    for (ValueId output : graph.nodes[i].outputs) {
      if (output != no_value) graph.value(output).producer = NodeId(nodes.size());
    }
    nodes.push_back(std::move(graph.nodes[i]));
  }
  graph.nodes = std::move(nodes);
}

}  // namespace

Result<bool> recognize_recurrence(Graph& graph) {
  std::set<NodeId> leftovers;
  LoopFinder finder(graph);
  for (uint32_t i = 0; i < graph.nodes.size(); ++i) {
    const std::optional<Loop> loop = TRY(finder.find(NodeId{i}));
    if (!loop) continue;
    Node joined = TRY(LoopJoiner(graph, *loop).join());
    replace(graph, *loop, std::move(joined));
    for (NodeId member : loop->members()) {
      if (member != loop->loop) leftovers.insert(member);
    }
  }
  remove_leftovers(graph, leftovers);
  return !leftovers.empty();
}

}  // namespace intarsia
