#include "rewrite/inner_functions.h"

#include <algorithm>
#include <array>

#include "import/operator_roles.h"
#include "rewrite/find_bodies.h"
#include "rewrite/inline_calls.h"
#include "tensorflow/attributes.h"

namespace intarsia {

using namespace tensorflow;

namespace {

bool is_branch(const std::string& op) {
  return is_one_of(op, {"If", "StatelessIf", "Case", "StatelessCase"});
}

/// Finder of who runs which function.
class FunctionUses {
 public:
  explicit FunctionUses(const GraphDef& graph) {
    for (const NodeDef& node : graph.nodes) add(node, "");
    for (const auto& [name, function] : graph.functions)
      for (const NodeDef& node : function.nodes) add(node, name);
  }

  /// Checks that only the function `by` runs it, once, or functions do that only `by` runs.
  bool is_private(const std::string& function, const std::string& by) const {
    std::string at = function;
    for (size_t depth = 0; depth <= users_.size(); ++depth) {
      const auto users = users_.find(at);
      if (users == users_.end() || users->second.size() != 1) return false;
      at = users->second[0];
      if (at == by) return true;
      if (at.empty()) return false;
    }
    return false;
  }

 private:
  void add(const NodeDef& node, const std::string& user) {
    for (const std::string& function : functions_of(node)) users_[function].push_back(user);
  }

  std::map<std::string, std::vector<std::string>> users_;  // functions by those that they run; "": the graph
};

/// Tells the arguments of a function which inputs of the node they are.
void bind_arguments(Body& inner, const Body& outer, const std::map<std::string, size_t>& numbers,
                    const BodyNode& node) {
  const size_t first = first_passed(node.def.op);
  for (size_t i = 0; i < inner.arguments.size() && first + i < node.sources.size(); ++i) {
    const std::string handle = find_handle(outer, numbers, node.sources[first + i]);
    const auto of_outer = std::ranges::find(outer.arguments, node.sources[first + i], &BodyArgument::name);
    if (!handle.empty())
      inner.arguments[i].captured = handle;
    else if (of_outer != outer.arguments.end() && !inner.arguments[i].shape)
      inner.arguments[i].shape = of_outer->shape;
  }
}

}  // namespace

bool runs_functions(const std::string& op) { return is_branch(op) || is_loop(op); }

bool is_loop(const std::string& op) { return is_one_of(op, {"While", "StatelessWhile"}); }

size_t first_passed(const std::string& op) { return is_branch(op) ? 1 : 0; }

std::vector<std::string> functions_run_by(const NodeDef& node,
                                          const std::map<std::string, FunctionDef>& functions) {
  if (const FunctionDef* called = find_called(node, functions)) return {called->signature.name};
  if (!runs_functions(node.op)) return {};
  std::vector<std::string> names = functions_of(node);
  const bool has_all = std::ranges::all_of(names, [&](const auto& name) { return functions.contains(name); });
  return has_all ? names : std::vector<std::string>();
}

const char* types_attribute(const std::string& op) { return is_loop(op) ? "T" : "Tin"; }

void add_givers(std::set<FunctionArgument>& arguments,
                const std::map<FunctionArgument, std::vector<FunctionArgument>>& givers) {
  std::vector<FunctionArgument> open(arguments.begin(), arguments.end());
  while (!open.empty()) {
    const auto known = givers.find(open.back());
    open.pop_back();
    if (known == givers.end()) continue;
    for (const FunctionArgument& giver : known->second)
      if (arguments.insert(giver).second) open.push_back(giver);
  }
}

Result<std::vector<Body>> find_inner_bodies(const Body& body, const BodyContext& context) {
  const FunctionUses uses(context.graph);
  const std::map<std::string, size_t> numbers = body.index();
  std::vector<Body> inner;
  for (const std::string& name : body.find_needed()) {
    const BodyNode& node = body.nodes[numbers.at(name)];
    if (!runs_functions(node.def.op)) continue;
    for (const std::string& function : functions_of(node.def)) {
      const auto at = context.graph.functions.find(function);
      if (at == context.graph.functions.end() || !uses.is_private(function, body.function)) continue;
      inner.push_back(TRY(make_function_body(at->second, context.called())));
      bind_arguments(inner.back(), body, numbers, node);
    }
  }
  return inner;
}

}  // namespace intarsia
