#include "rewrite/find_scope.h"

#include <algorithm>

#include "base/add_once.h"
#include "rewrite/find_bodies.h"

namespace intarsia {
namespace {

bool is_within(const std::string& name, const std::string& scope) {
  return name.starts_with(scope) && (name.size() == scope.size() || name[scope.size()] == '/');
}

/// Returns the call by which the node came into the body with all others of the scope; empty if it was there.
/// Nullopt: the node is not of the scope.
std::optional<std::string> call_of_scope(const BodyNode& node, const std::string& scope) {
  std::string outer;
  for (const InlinedCallName& call : node.calls) {
    if (is_within(call.own_name, scope)) return outer;
    outer = call.name;
  }
  const std::vector<std::string> functions = functions_of(node.def);
  const bool calls_it = std::ranges::find(functions, scope) != functions.end();
  if (calls_it) return node.def.name;
  if (is_within(node.own_name, scope)) return outer;
  return std::nullopt;
}

/// Returns those of `wanted` that are in `have`, in the order of `wanted`.
std::vector<std::string> in_order_of(const std::vector<std::string>& wanted,
                                     const std::vector<std::string>& have) {
  std::vector<std::string> ordered;
  for (const std::string& source : wanted)
    if (std::ranges::find(have, source) != have.end()) add_once(ordered, source);
  return ordered;
}

}  // namespace

std::vector<std::set<std::string>> find_scope(const Body& body, const std::string& scope) {
  const std::set<std::string> needed = body.find_needed();
  if (body.is_function() && body.function == scope) return {needed};
  std::map<std::string, std::set<std::string>> by_call;
  for (const BodyNode& node : body.nodes) {
    if (!needed.contains(node.def.name)) continue;
    if (const auto call = call_of_scope(node, scope)) by_call[*call].insert(node.def.name);
  }
  std::vector<std::set<std::string>> found;
  for (auto& [call, nodes] : by_call) found.push_back(std::move(nodes));
  return found;
}

ExchangedSources find_exchanged(const Body& body, const std::set<std::string>& nodes) {
  ExchangedSources exchanged;
  std::set<std::string> read;
  const std::set<std::string> needed = body.find_needed();
  for (const BodyNode& node : body.nodes) {
    if (!needed.contains(node.def.name)) continue;
    for (const std::string& source : node.sources) {
      if (!nodes.contains(node.def.name))
        read.insert(source);
      else if (!nodes.contains(node_of(source)))
        add_once(exchanged.inputs, source);
    }
  }
  std::vector<std::string> arguments, returned;
  for (const BodyArgument& argument : body.arguments) arguments.push_back(argument.name);
  for (const BodyReturn& one : body.returns) returned.push_back(one.source);
  read.insert(returned.begin(), returned.end());
  for (const BodyNode& node : body.nodes) {
    if (!nodes.contains(node.def.name)) continue;
    for (const std::string& source : read)
      if (node_of(source) == node.def.name) add_once(exchanged.outputs, source);
  }
  if (nodes == needed) {
    exchanged.inputs = in_order_of(arguments, exchanged.inputs);
    exchanged.outputs = in_order_of(returned, exchanged.outputs);
  }
  return exchanged;
}

}  // namespace intarsia
