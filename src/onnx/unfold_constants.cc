#include "onnx/unfold_constants.h"

#include <map>

namespace intarsia {
namespace {

class Unfolding {
 public:
  explicit Unfolding(const Graph& from) : to_(from) {
    for (uint32_t i = 0; i < to_.values.size(); ++i) known_[to_.values[i].name] = ValueId{i};
  }

  Graph run() {
    const std::vector<Node> nodes = std::exchange(to_.nodes, {});
    const size_t count = to_.values.size();
    for (uint32_t i = 0; i < count; ++i)
      if (to_.values[i].folded != nullptr) make(ValueId{i});
    for (const Node& node : nodes) to_.add_node(node);
    return std::move(to_);
  }

 private:
  /// Makes the value the output of its node.
  void make(ValueId id) {
    const std::shared_ptr<const FoldedNode> folded = std::exchange(to_.value(id).folded, nullptr);
    to_.value(id).constant.reset();
    Node node = folded->node;
    for (size_t i = 0; i < node.inputs.size(); ++i)
      node.inputs[i] = folded->inputs[i].name.empty() ? no_value : find(folded->inputs[i]);
    node.outputs = {id};
    to_.add_node(std::move(node));
  }

  ValueId find(const Value& value) {
    const auto [at, is_new] = known_.try_emplace(value.name, no_value);
    if (is_new) {
      at->second = to_.add_value(value.name, value.type);
      to_.value(at->second).constant = value.constant;
      to_.value(at->second).folded = value.folded;
    }
    const ValueId id = at->second;
    if (to_.value(id).folded != nullptr) make(id);
    return id;
  }

  Graph to_;
  std::map<std::string, ValueId> known_;
};

}  // namespace

Graph unfold_constants(const Graph& graph) { return Unfolding(graph).run(); }

}  // namespace intarsia
