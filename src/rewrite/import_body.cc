#include "rewrite/import_body.h"

#include <algorithm>

#include "import/freeze_function.h"
#include "import/import_tensorflow.h"
#include "import/operator_roles.h"
#include "rewrite/made_tensors.h"
#include "tensorflow/attributes.h"
#include "tensorflow/composite.h"
#include "tensorflow/dtypes.h"
#include "tensorflow/fields.h"

namespace intarsia {

using namespace tensorflow;

namespace {

bool is_handle(int32_t data_type) { return data_type == resource_type || data_type == variant_type; }

class BodyImport {
 public:
  BodyImport(const Body& body, const BodyContext& context)
      : body_(body), context_(context), numbers_(body.index()), left_out_(body.nodes.size(), false) {
    for (const BodyArgument& argument : body.arguments) {
      arguments_[argument.name] = &argument;
      fed_.insert(node_of(argument.name));
    }
  }

  Result<ImportedBody> run() {
    TRY(leave_out_nodes());
    TRY(find_needed());
    add_read_outside();
    ImportedBody imported;
    if (outputs_.empty()) return imported;
    TRY(make_graph());
    name_outputs(imported);
    imported.graph =
        TRY(import_nodes(graph_, inputs_, boundary_outputs_, context_.source, context_.read_saved));
    for (size_t i = 0; i < inputs_.size(); ++i) imported.sources[inputs_[i].name] = input_sources_[i];
    add_sources_of_nodes(imported);
    for (const std::string& name : needed_) imported.levels[import_name(name)] = level_of(numbers_.at(name));
    return imported;
  }

 private:
  const BodyNode* find(const std::string& source) const {
    const auto at = arguments_.contains(source) ? numbers_.end() : numbers_.find(node_of(source));
    return at == numbers_.end() ? nullptr : &body_.nodes[at->second];
  }

  /// Checks whether what a source is the handle of is known, and keeps its saved contents.
  bool is_frozen_handle(const std::string& source) const {
    const std::string handle = find_handle(body_, numbers_, source);
    return !handle.empty() && !context_.changed_variables.contains(node_of(handle));
  }

  /// Checks whether a program can stand for the node, whatever it reads.
  bool is_importable(const BodyNode& node) const {
    if (node.def.op == "Intarsia" || changes_state(node.def.op) || is_reference_variable(node.def.op))
      return false;
    if (reads_variable(node.def.op) && !node.sources.empty() && !is_frozen_handle(node.sources[0]))
      return false;
    return std::ranges::all_of(node.sources, [&](const std::string& source) {
      const auto argument = arguments_.find(source);
      const bool is_argument = argument != arguments_.end() && is_handle(argument->second->data_type);
      const BodyNode* from = find(source);
      const bool is_variable_node = from != nullptr && from->def.op == "VarHandleOp";
      return (!is_argument && !is_variable_node) || is_frozen_handle(source);
    });
  }

  /// Finds the nodes to leave out, each of which may leave others without what they read.
  Status leave_out_nodes() {
    std::map<std::string, std::vector<size_t>> readers;
    for (size_t i = 0; i < body_.nodes.size(); ++i)
      for (const std::string& source : body_.nodes[i].sources) readers[node_of(source)].push_back(i);
    std::vector<size_t> open;
    for (size_t i = 0; i < body_.nodes.size(); ++i)
      if (!is_importable(body_.nodes[i])) open.push_back(i);
    for (const BodyArgument& argument : body_.arguments)
      if (!is_handle(argument.data_type) && argument.captured.empty() && !argument.shape)
        std::ranges::copy(readers[argument.name], std::back_inserter(open));
    while (!open.empty()) {
      const size_t number = open.back();
      open.pop_back();
      if (left_out_[number]) continue;
      left_out_[number] = true;
      const NodeDef& node = body_.nodes[number].def;
      TRY(note_outputs(node));
      for (size_t reader : readers[node.name])
        if (!can_get_inputs(body_.nodes[reader])) open.push_back(reader);
    }
    return {};
  }

  Status note_outputs(const NodeDef& node) {
    const std::vector<MadeTensor> made = TRY(find_made_tensors(node, context_.source));
    for (size_t i = 0; i < made.size(); ++i)
      if (made[i].shape && dtype_of(made[i].data_type) != DType::undefined)
        given_[fmt::format("{}:{}", node.name, i)] = made[i];
    return {};
  }

  bool can_get_inputs(const BodyNode& node) const {
    return std::ranges::all_of(node.sources, [&](const std::string& source) {
      const BodyNode* from = find(source);
      return from == nullptr || !left_out_[number_of(*from)] || given_.contains(source);
    });
  }

  size_t number_of(const BodyNode& node) const { return static_cast<size_t>(&node - body_.nodes.data()); }

  /// Finds the nodes that are imported, and the tensors that they leave to the rest of the body.
  Status find_needed() {
    std::vector<std::string> open;
    for (const BodyReturn& one : body_.returns) open.push_back(one.source);
    for (const BodyReturn& one : body_.returns) want(one.source);
    std::set<std::string> seen;
    while (!open.empty()) {
      const std::string source = std::move(open.back());
      open.pop_back();
      const BodyNode* node = find(source);
      if (node == nullptr || !seen.insert(node->def.name).second) continue;
      if (!left_out_[number_of(*node)]) needed_.insert(node->def.name);
      for (const std::string& input : node->sources) {
        if (left_out_[number_of(*node)]) want(input);
        open.push_back(input);
      }
    }
    return {};
  }

  void add_read_outside() {
    for (const std::string& name : body_.find_needed()) {
      if (needed_.contains(name)) continue;
      for (const std::string& source : body_.nodes[numbers_.at(name)].sources)
        if (needed_.contains(node_of(source)) && !arguments_.contains(source)) want(source);
    }
  }

  /// Makes the tensor an output, if it is one that a program can compute.
  void want(const std::string& source) {
    std::string made = source;
    const BodyNode* node = find(made);
    while (node != nullptr && is_alias(node->def.op)) {
      const auto number = static_cast<size_t>(std::max(parse_reference(made).output, 0));
      if (number >= node->sources.size()) return;
      made = node->sources[number];
      node = find(made);
    }
    if (node == nullptr || node->def.op == "Const" || left_out_[number_of(*node)]) return;
    if (is_variable(node->def.op) || reads_variable(node->def.op) || makes_handle(node->def)) return;
    if (std::ranges::find(outputs_, source) == outputs_.end()) outputs_.push_back(source);
  }

  static bool makes_handle(const NodeDef& node) {
    return node.op == "HashTableV2" || node.op == "MutableHashTableV2";
  }

  /// Makes a graph of the nodes in the form of the model's own.
  Status make_graph() {
    graph_.functions = context_.graph.functions;
    graph_.producer = context_.graph.producer;
    for (const BodyNode& node : body_.nodes) {
      if (!needed_.contains(node.def.name)) continue;
      for (const std::string& source : node.sources) TRY(provide(source));
    }
    for (const std::string& output : outputs_) TRY(provide(output));
    for (const BodyNode& node : body_.nodes) {
      if (!needed_.contains(node.def.name)) continue;
      NodeDef def = node.def;
      def.name = import_name(def.name);
      def.inputs.clear();
      for (const std::string& source : node.sources) def.inputs.push_back(import_source(source));
      graph_.nodes.push_back(std::move(def));
    }
    return {};
  }

  /// Makes an argument, or what a node that is left out makes, known to the graph.
  Status provide(const std::string& source) {
    if (provided_.contains(source)) return {};
    if (const auto at = arguments_.find(source); at != arguments_.end()) {
      const BodyArgument& argument = *at->second;
      if (!argument.captured.empty()) return provide_captured(argument);
      provided_[source] = canonical_reference(source);
      return add_input(argument.key, source, {argument.data_type, argument.shape});
    }
    if (const auto at = given_.find(source); at != given_.end()) {
      provided_[source] = source;
      return add_input(source, source, at->second);
    }
    return {};
  }

  Status add_input(const std::string& name, const std::string& source, const MadeTensor& tensor) {
    const bool is_free =
        std::ranges::find(inputs_, name, &BoundaryTensor::name) == inputs_.end() && !needed_.contains(name);
    const std::string unique = is_free ? name : source;
    inputs_.push_back(
        {provided_.at(source), unique, TRY(boundary_type(unique, tensor.data_type, tensor.shape))});
    input_sources_.push_back(source);
    return {};
  }

  Status provide_captured(const BodyArgument& argument) {
    const std::string name = node_of(argument.captured);
    const auto at = std::ranges::find(context_.graph.nodes, name, &NodeDef::name);
    if (at == context_.graph.nodes.end())
      return fail("reads '{}', which nothing produces", argument.captured);
    provided_[argument.name] = argument.captured;
    if (captured_.insert(name).second) {
      graph_.nodes.push_back(*at);
      graph_.nodes.back().inputs.clear();
    }
    return {};
  }

  /// Returns the node's name in the graph: another one where a node of the model's own graph has it.
  std::string import_name(const std::string& name) const {
    return captured_.contains(name) ? "body/" + name : name;
  }

  std::string import_source(const std::string& source) const {
    if (const auto at = provided_.find(source); at != provided_.end()) return at->second;
    const std::string name = node_of(source);
    return import_name(name) + source.substr(name.size());
  }

  void name_outputs(ImportedBody& imported) {
    for (size_t i = 0; i < outputs_.size(); ++i) {
      std::string name = fmt::format("result/{}", i);
      while (numbers_.contains(name)) name += "_";
      boundary_outputs_.push_back({import_source(outputs_[i]), name, {}});
      imported.sources[name] = outputs_[i];
    }
  }

  /// Adds the values between nodes, which have the names of tensors.
  void add_sources_of_nodes(ImportedBody& imported) const {
    std::map<std::string, std::string> original;  // names that import_name changed
    for (const std::string& name : needed_) original[import_name(name)] = name;
    for (const Value& value : imported.graph.values) {
      const auto node = original.find(node_of(value.name));
      if (node != original.end() && value.producer != no_node)
        imported.sources.try_emplace(value.name, node->second + value.name.substr(node->first.size()));
    }
  }

  bool is_imported(const BodyNode& node) const {
    return needed_.contains(node.def.name) && !fed_.contains(node.def.name);
  }

  /// Returns how often what the node needs leaves the imported nodes. Of these, what they wait for does not
  /// count: a call may start before.
  uint32_t level_of(size_t number) {
    std::vector<size_t> open{number};
    while (!open.empty()) {
      const size_t at = open.back();
      if (levels_.contains(at)) {
        open.pop_back();
        continue;
      }
      const BodyNode& node = body_.nodes[at];
      uint32_t level = 0;
      const size_t waiting = open.size();
      for (const std::string& input : node.def.inputs) {
        if (is_control(input) && is_imported(node)) continue;
        const auto from = numbers_.find(node_of(input));
        if (from == numbers_.end()) continue;
        const auto known = levels_.find(from->second);
        const bool leaves = is_imported(body_.nodes[from->second]) && !is_imported(node);
        if (known != levels_.end())
          level = std::max(level, known->second + (leaves ? 1 : 0));
        else if (visited_.insert({at, from->second}).second)
          open.push_back(from->second);
      }
      if (open.size() != waiting) continue;
      levels_[at] = level;
      open.pop_back();
    }
    return levels_.at(number);
  }

  const Body& body_;
  const BodyContext& context_;
  const std::map<std::string, size_t> numbers_;
  std::map<std::string, const BodyArgument*> arguments_;
  std::vector<bool> left_out_;                   // by node
  std::map<std::string, MadeTensor> given_;      // what nodes that are left out make
  std::set<std::string> needed_, captured_;      // names of nodes: of the body, and of the model's own graph
  std::vector<std::string> outputs_;             // sources
  std::map<std::string, std::string> provided_;  // tensors of `graph_` by source, where they differ
  std::set<std::string> fed_;                    // nodes that make what is an argument, too
  std::map<size_t, uint32_t> levels_;            // of nodes of the body
  std::set<std::pair<size_t, size_t>> visited_;  // edges; one that is visited twice is part of a loop
  GraphDef graph_;
  std::vector<BoundaryTensor> inputs_, boundary_outputs_;
  std::vector<std::string> input_sources_;
};

}  // namespace

std::string find_handle(const Body& body, const std::map<std::string, size_t>& numbers, std::string source) {
  for (size_t hops = 0; hops <= body.nodes.size(); ++hops) {
    for (const BodyArgument& argument : body.arguments)
      if (argument.name == source) return argument.captured;
    const auto at = numbers.find(node_of(source));
    if (at == numbers.end()) return {};
    const BodyNode& node = body.nodes[at->second];
    if (node.def.op == "VarHandleOp") return body.is_function() ? std::string() : source;
    if (!is_alias(node.def.op) || node.sources.empty()) return {};
    source = node.sources[0];
  }
  return {};
}

Result<ImportedBody> import_body(const Body& body, const BodyContext& context) {
  return BodyImport(body, context).run();
}

}  // namespace intarsia
