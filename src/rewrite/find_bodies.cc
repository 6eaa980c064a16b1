#include "rewrite/find_bodies.h"

#include <algorithm>

#include "import/operator_roles.h"
#include "rewrite/inline_calls.h"
#include "tensorflow/attributes.h"

namespace intarsia {

using namespace tensorflow;

namespace {

/// What is known about an argument of a function.
struct Binding {
  std::string captured, key;
  bool operator==(const Binding&) const = default;
};

/// Function that a signature runs.
struct FoundFunction {
  const FunctionDef* function;
  std::vector<Binding> arguments;
};

/// Checks for nodes whose results are the same in each run: they are made once.
bool is_fixed(const NodeDef& node) {
  constexpr std::array ops{"VarHandleOp", "Const", "HashTableV2", "MutableHashTableV2"};
  return std::ranges::find(ops, node.op) != ops.end();
}

class BodyFinder {
 public:
  BodyFinder(const MetaGraph& meta, const GraphDef& graph) : meta_(meta), graph_(graph) {
    for (const NodeDef& node : graph.nodes) {
      nodes_[node.name] = &node;
      for (const std::string& function : functions_of(node)) ++uses_[function];
    }
    for (const auto& [name, function] : graph.functions)
      for (const NodeDef& node : function.nodes)
        for (const std::string& used : functions_of(node)) ++uses_[used];
    for (const auto& [name, signature] : meta.signatures)
      if (const auto wrapper = find_wrapper(signature))
        if (const NodeDef* call = only_call(*wrapper->function);
            call != nullptr && wrappers_.insert(wrapper->function).second)
          ++wrapped_[find_called(*call, graph.functions)];
  }

  /// Returns the function that computes the signature's outputs; nullopt if the graph itself does.
  std::optional<FoundFunction> find(const SignatureDef& signature) const {
    std::optional<FoundFunction> found = find_wrapper(signature);
    const NodeDef* call = found ? only_call(*found->function) : nullptr;
    const FunctionDef* called = call ? find_called(*call, graph_.functions) : nullptr;
    if (called == nullptr || wrapped_.at(called) != uses_.at(called->signature.name)) return found;
    return FoundFunction{called, pass_arguments(*found, *call)};
  }

 private:
  /// Returns the function that a node of the graph calls for all outputs of the signature.
  std::optional<FoundFunction> find_wrapper(const SignatureDef& signature) const {
    const NodeDef* call = nullptr;
    for (const auto& [key, output] : signature.outputs) {
      const auto at = nodes_.find(node_of(output.name));
      if (at == nodes_.end() || (call != nullptr && call != at->second)) return std::nullopt;
      call = at->second;
    }
    const FunctionDef* function = call ? find_called(*call, graph_.functions) : nullptr;
    if (function == nullptr) return std::nullopt;
    FoundFunction found{function, {}};
    for (const std::string& input : call->inputs)
      if (!is_control(input)) found.arguments.push_back(bind(signature, canonical_reference(input)));
    if (found.arguments.size() != function->signature.inputs.size()) return std::nullopt;
    return found;
  }

  Binding bind(const SignatureDef& signature, const std::string& tensor) const {
    for (const auto& [key, input] : signature.inputs)
      if (canonical_reference(input.name) == tensor) return {{}, key};
    const auto node = nodes_.find(node_of(tensor));
    return {node != nodes_.end() && is_fixed(*node->second) ? tensor : std::string(), {}};
  }

  /// Returns the call in a function that does nothing else than to pass on arguments and results; null if
  /// there is none.
  const NodeDef* only_call(const FunctionDef& function) const {
    const NodeDef* call = nullptr;
    for (const NodeDef& node : function.nodes) {
      if (node.op == "Identity" || node.op == "NoOp") continue;
      if (call != nullptr || find_called(node, graph_.functions) == nullptr) return nullptr;
      call = &node;
    }
    if (call == nullptr) return nullptr;
    const bool passes_arguments = std::ranges::all_of(call->inputs, [&](const std::string& input) {
      return std::ranges::find(function.signature.inputs, input, &ArgDef::name) !=
             function.signature.inputs.end();
    });
    const size_t wanted = find_called(*call, graph_.functions)->signature.inputs.size();
    return passes_arguments && call->inputs.size() == wanted ? call : nullptr;
  }

  static std::vector<Binding> pass_arguments(const FoundFunction& wrapper, const NodeDef& call) {
    std::vector<Binding> arguments;
    for (const std::string& input : call.inputs) {
      const auto& names = wrapper.function->signature.inputs;
      const auto at = std::ranges::find(names, input, &ArgDef::name);
      arguments.push_back(wrapper.arguments[static_cast<size_t>(at - names.begin())]);
    }
    return arguments;
  }

  const MetaGraph& meta_;
  const GraphDef& graph_;
  std::map<std::string, const NodeDef*> nodes_;
  std::map<std::string, int> uses_;  // nodes that name a function
  std::set<const FunctionDef*> wrappers_;
  std::map<const FunctionDef*, int> wrapped_;  // functions of signatures that only call this one
};

Result<Body> function_body(const FoundFunction& found, const CalledFunctions& called) {
  Body body = TRY(make_function_body(*found.function, called));
  for (size_t i = 0; i < body.arguments.size(); ++i) {
    body.arguments[i].captured = found.arguments[i].captured;
    if (!found.arguments[i].key.empty()) body.arguments[i].key = found.arguments[i].key;
  }
  return body;
}

/// Makes the body of the model's own graph for the signatures that it computes itself.
Result<Body> graph_body(const MetaGraph& meta, const GraphDef& graph,
                        const std::vector<std::string>& signatures, const CalledFunctions& called) {
  std::vector<std::string> returned;
  std::map<std::string, BodyArgument> arguments;
  for (const std::string& name : signatures) {
    const SignatureDef& signature = meta.signatures.at(name);
    for (const auto& [key, output] : signature.outputs)
      if (std::ranges::find(returned, canonical_reference(output.name)) == returned.end())
        returned.push_back(canonical_reference(output.name));
    for (const auto& [key, input] : signature.inputs) {
      const std::string tensor = canonical_reference(input.name);
      arguments.try_emplace(tensor, BodyArgument{tensor, key, input.data_type, input.shape, {}});
    }
  }
  Body body = TRY(make_graph_body(graph, returned, called));
  for (auto& [tensor, argument] : arguments) body.arguments.push_back(std::move(argument));
  for (const std::string& name : meta.collected) body.kept.insert(node_of(name));
  return body;
}

}  // namespace

std::vector<std::string> functions_of(const NodeDef& node) {
  std::vector<std::string> names;
  for (const Attributes::Entry& attribute : node.attributes)
    for (std::string& name : get_functions(attribute.value)) names.push_back(std::move(name));
  return names;
}

Result<std::vector<SignatureBody>> find_bodies(const MetaGraph& meta, const GraphDef& graph,
                                               const std::vector<std::string>& signatures,
                                               const CalledFunctions& called) {
  const BodyFinder finder(meta, graph);
  std::vector<SignatureBody> bodies;
  std::vector<std::string> in_graph;
  for (const std::string& name : signatures) {
    const std::optional<FoundFunction> found = finder.find(meta.signatures.at(name));
    if (!found) {
      in_graph.push_back(name);
      continue;
    }
    const auto known = std::ranges::find(bodies, found->function->signature.name,
                                         [](const SignatureBody& one) { return one.body.function; });
    if (known != bodies.end()) {
      known->signatures.push_back(name);
      for (size_t i = 0; i < found->arguments.size(); ++i)
        if (known->body.arguments[i].captured != found->arguments[i].captured)
          known->body.arguments[i].captured.clear();
    } else {
      bodies.push_back({{name}, TRY(function_body(*found, called))});
    }
  }
  if (!in_graph.empty()) bodies.push_back({in_graph, TRY(graph_body(meta, graph, in_graph, called))});
  return bodies;
}

}  // namespace intarsia
