#include "import/control_flow_groups.h"

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <string_view>
#include <unordered_map>

#include "import/operator_roles.h"
#include "tensorflow/composite.h"

namespace intarsia {
namespace {

using tensorflow::NodeDef;

bool opens(const std::string& op) { return is_one_of(op, {"Enter", "RefEnter", "Switch", "RefSwitch"}); }
bool closes(const std::string& op) { return is_one_of(op, {"Exit", "RefExit", "Merge", "RefMerge"}); }

using Edges = std::vector<std::vector<size_t>>;

/// Finds all nodes that can be reached along the edges.
std::vector<bool> reach(const Edges& edges, std::vector<size_t> from) {
  std::vector<bool> seen(edges.size(), false);
  for (size_t node : from) seen[node] = true;
  while (!from.empty()) {
    const size_t at = from.back();
    from.pop_back();
    for (size_t next : edges[at]) {
      if (!seen[next]) from.push_back(next);
      seen[next] = true;
    }
  }
  return seen;
}

}  // namespace

std::vector<std::vector<size_t>> find_control_flow_groups(const std::vector<NodeDef>& nodes,
                                                          const std::vector<bool>& needed) {
  std::vector<size_t> openers, closers;
  for (size_t i = 0; i < nodes.size(); ++i) {
    if (needed[i] && opens(nodes[i].op)) openers.push_back(i);
    if (needed[i] && closes(nodes[i].op)) closers.push_back(i);
  }
  if (openers.empty()) return {};
  std::unordered_map<std::string_view, size_t> by_name;
  for (size_t i = 0; i < nodes.size(); ++i) by_name[nodes[i].name] = i;
  Edges after(nodes.size()), before(nodes.size());
  for (size_t i = 0; i < nodes.size(); ++i) {
    if (!needed[i]) continue;
    for (const std::string& input : nodes[i].inputs) {
      const auto from = by_name.find(tensorflow::parse_reference(input).node);
      if (from == by_name.end() || !needed[from->second]) continue;
      after[from->second].push_back(i);  // a node that waits for one in a frame runs in that frame
      before[i].push_back(from->second);
    }
  }
  const std::vector<bool> opened = reach(after, openers), closed = reach(before, closers);
  const auto inside = [&](size_t node) { return opened[node] && closed[node]; };
  std::vector<size_t> parent(nodes.size());
  std::iota(parent.begin(), parent.end(), 0);
  const auto root = [&](size_t node) {
    while (parent[node] != node) node = parent[node] = parent[parent[node]];
    return node;
  };
  for (size_t i = 0; i < nodes.size(); ++i) {
    if (!inside(i)) continue;
    for (size_t from : before[i]) {
      if (inside(from)) parent[std::max(root(i), root(from))] = std::min(root(i), root(from));
    }
  }
  std::map<size_t, std::vector<size_t>> groups;
  for (size_t i = 0; i < nodes.size(); ++i) {
    if (inside(i)) groups[root(i)].push_back(i);
  }
  std::vector<std::vector<size_t>> result;
  for (auto& [first, members] : groups) result.push_back(std::move(members));
  return result;
}

}  // namespace intarsia
