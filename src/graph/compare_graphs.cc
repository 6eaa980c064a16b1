#include <algorithm>
#include <unordered_map>

#include "graph/graph.h"

namespace intarsia {
namespace {

class Comparison {
 public:
  Comparison(const Graph& a, const Graph& b) : a_(a), b_(b) {}

  bool same_names(const std::vector<ValueId>& a, const std::vector<ValueId>& b) const {
    return std::ranges::equal(a, b, [&](ValueId x, ValueId y) {
      if (x == no_value || y == no_value) return x == y;
      return a_.value(x).name == b_.value(y).name;
    });
  }

  bool same_node(const Node& a, const Node& b) const {
    return a.name == b.name && a.op == b.op && a.domain == b.domain && a.version == b.version &&
           a.attributes == b.attributes && same_names(a.inputs, b.inputs) &&
           same_names(a.outputs, b.outputs) && same_names(a.captures, b.captures);
  }

  /// Compares the values, whose names are unique: the sets are equal if their sizes are and each value has a
  /// counterpart.
  bool same_values() const {
    if (a_.values.size() != b_.values.size()) return false;
    std::unordered_map<std::string_view, const Value*> by_name;
    for (const Value& value : b_.values) by_name.emplace(value.name, &value);
    return std::ranges::all_of(a_.values, [&](const Value& value) {
      auto at = by_name.find(value.name);
      return at != by_name.end() && at->second->type == value.type && at->second->constant == value.constant;
    });
  }

 private:
  const Graph& a_;
  const Graph& b_;
};

}  // namespace

bool Graph::operator==(const Graph& other) const {
  const Comparison comparison(*this, other);
  return name == other.name && opsets == other.opsets && comparison.same_names(inputs, other.inputs) &&
         comparison.same_names(outputs, other.outputs) && comparison.same_values() &&
         std::ranges::equal(nodes, other.nodes,
                            [&](const Node& a, const Node& b) { return comparison.same_node(a, b); });
}

}  // namespace intarsia
