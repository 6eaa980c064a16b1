#include "rewrite/inline_calls.h"

#include <algorithm>

#include "base/add_once.h"
#include "import/freeze_function.h"
#include "import/operator_roles.h"
#include "tensorflow/attributes.h"
#include "tensorflow/composite.h"

namespace intarsia {

using namespace tensorflow;

namespace {

constexpr size_t max_nodes = 1'000'000;  // limit on inlining

/// Call that becomes the nodes of its function.
class InlinedCall {
 public:
  /// Refers to its arguments, which outlive it. `names`: all names of the body.
  InlinedCall(const BodyNode& call, const FunctionDef& function, bool in_function,
              std::set<std::string>& names, const ReferenceResolver& resolver)
      : call_(call.def),
        function_(function),
        in_function_(in_function),
        names_(names),
        resolver_(resolver),
        calls_(call.calls) {
    calls_.push_back({call.own_name, call.def.name});
  }

  /// Makes the nodes, and what stands for the call's results.
  Status make() {
    const auto& arguments = function_.signature.inputs;
    for (const std::string& input : call_.inputs) (is_control(input) ? waits_ : given_).push_back(input);
    if (given_.size() != arguments.size())
      return fail("node '{}' calls '{}' with {} inputs, want {}", call_.name, function_.signature.name,
                  given_.size(), arguments.size());
    for (size_t i = 0; i < arguments.size(); ++i) arguments_[arguments[i].name] = given_[i];
    TRY(index_nodes(scope_));
    for (const NodeDef& node : function_.nodes) renamed_[node.name] = unique_name(node.name);
    for (const NodeDef& node : function_.nodes) TRY(add(node));
    return find_results();
  }

  std::vector<BodyNode> take_nodes() { return std::move(nodes_); }

  /// Returns what an input of another node becomes: usually the input itself.
  Result<std::vector<std::string>> replace(const std::string& input) const {
    if (node_of(input) != call_.name) return std::vector<std::string>{input};
    if (is_control(input)) return always_run_;
    const int number = parse_reference(input).output;
    if (number < 0 || static_cast<size_t>(number) >= results_.size())
      return fail("reads '{}', which nothing produces", input);
    return std::vector<std::string>{results_[static_cast<size_t>(number)]};
  }

  /// Returns the nodes that always run, by their names.
  std::map<std::string, std::string> control_returns() const {
    std::map<std::string, std::string> nodes;
    for (const auto& [name, node] : function_.control_returns) {
      if (const auto at = renamed_.find(node); at != renamed_.end()) nodes[at->second] = at->second;
    }
    return nodes;
  }

 private:
  std::string unique_name(const std::string& name) {
    if (names_.insert(name).second) return name;
    std::string longer = call_.name + "/" + name;
    for (int i = 1; !names_.insert(longer).second; ++i) longer = fmt::format("{}/{}_{}", call_.name, name, i);
    return longer;
  }

  /// Writes a reference of the function as one of the body.
  Result<std::string> adopt(const std::string& reference) const {
    const std::string name = node_of(reference);
    if (!is_control(reference)) {
      if (const auto argument = arguments_.find(name);
          argument != arguments_.end() && !renamed_.contains(name))
        return argument->second;
    }
    const auto node = renamed_.find(name);
    if (node == renamed_.end()) return fail("reads '{}', which nothing produces", reference);
    if (is_control(reference)) return "^" + node->second;
    const std::string whole = in_function_ ? reference : TRY(resolver_.resolve(scope_, reference));
    return node->second + whole.substr(name.size());
  }

  Status add(const NodeDef& node) {
    BodyNode made{node, {}, node.name, calls_};
    made.def.name = renamed_.at(node.name);
    made.def.inputs.clear();
    bool is_at_start = true;
    for (const std::string& input : node.inputs) {
      made.def.inputs.push_back(TRY(with_context(adopt(input), "node '{}'", node.name)));
      is_at_start = is_at_start && !renamed_.contains(node_of(input));
    }
    for (const std::string& wait : waits_)
      if (is_at_start) add_once(made.def.inputs, wait);
    nodes_.push_back(std::move(made));
    return {};
  }

  Status find_results() {
    for (const ArgDef& result : function_.signature.outputs) {
      const auto from = function_.returns.find(result.name);
      if (from == function_.returns.end())
        return fail("function '{}' does not return '{}'", function_.signature.name, result.name);
      results_.push_back(TRY(adopt(from->second)));
      if (const auto node = renamed_.find(node_of(from->second)); node != renamed_.end())
        add_once(always_run_, "^" + node->second);
    }
    for (const auto& [name, node] : control_returns()) add_once(always_run_, "^" + node);
    return {};
  }

  const NodeDef& call_;
  const FunctionDef& function_;
  const bool in_function_;
  std::set<std::string>& names_;
  const ReferenceResolver& resolver_;
  std::vector<InlinedCallName> calls_;  // of its nodes
  NameScope scope_{function_.nodes, true};
  std::vector<std::string> given_, waits_;        // inputs of the call, and those that only order
  std::map<std::string, std::string> arguments_;  // what the body gives, by argument
  std::map<std::string, std::string> renamed_;    // names in the body, by those in the function
  std::vector<BodyNode> nodes_;
  std::vector<std::string> results_, always_run_;
};

Status replace_call(Body& body, const InlinedCall& inlined, const std::string& call) {
  for (BodyNode& node : body.nodes) {
    std::vector<std::string> inputs;
    for (const std::string& input : node.def.inputs)
      for (const std::string& one : TRY(with_context(inlined.replace(input), "node '{}'", node.def.name))) {
        if (is_control(one))
          add_once(inputs, one);
        else
          inputs.push_back(one);
      }
    // What orders comes last.
    std::ranges::stable_partition(inputs, [](const std::string& input) { return !is_control(input); });
    node.def.inputs = std::move(inputs);
  }
  for (BodyReturn& one : body.returns) one.text = TRY(inlined.replace(one.text))[0];
  if (std::erase_if(body.control_returns, [&](const auto& entry) { return entry.second == call; }) > 0)
    body.control_returns.merge(inlined.control_returns());
  return {};
}

}  // namespace

const FunctionDef* find_called(const NodeDef& node, const std::map<std::string, FunctionDef>& functions) {
  if (!calls_function(node.op)) return nullptr;
  const AttributeValue* attribute = node.attributes.find("f");
  const std::vector<std::string> names = attribute ? get_functions(*attribute) : std::vector<std::string>();
  const auto at = names.size() == 1 ? functions.find(names[0]) : functions.end();
  return at == functions.end() ? nullptr : &at->second;
}

Status inline_calls(Body& body, const CalledFunctions& called, const ReferenceResolver& resolver) {
  std::set<std::string> names = body.names();
  for (int depth = 0; depth <= deepest_call; ++depth) {
    const std::set<std::string> needed = body.find_needed();
    std::vector<NodeDef> calls;
    for (const BodyNode& node : body.nodes) {
      const FunctionDef* function =
          needed.contains(node.def.name) ? find_called(node.def, called.functions) : nullptr;
      if (function != nullptr && !called.whole.contains(function->signature.name)) calls.push_back(node.def);
    }
    if (calls.empty()) return {};
    for (const NodeDef& found : calls) {
      const auto at = std::ranges::find(body.nodes, found.name, [](const BodyNode& n) { return n.def.name; });
      const BodyNode call = *at;  // earlier calls may have changed its inputs
      InlinedCall inlined(call, *find_called(call.def, called.functions), body.is_function(), names,
                          resolver);
      TRY(inlined.make());
      body.nodes.erase(at);
      TRY(replace_call(body, inlined, call.def.name));
      for (BodyNode& node : inlined.take_nodes()) body.nodes.push_back(std::move(node));
      if (body.nodes.size() > max_nodes)
        return fail("the model has over {} nodes after its functions are inlined", max_nodes);
    }
  }
  return fail("functions call each other more than {} deep", deepest_call);
}

}  // namespace intarsia
