#include "rewrite/replace_parts.h"

#include <algorithm>
#include <cctype>
#include <functional>

#include "import/operator_roles.h"
#include "tensorflow/attributes.h"
#include "tensorflow/composite.h"

namespace intarsia {

using namespace tensorflow;

namespace {

/// Output of a new node: as an input is written, and as a source.
struct NewTensor {
  std::string text, source;
};

/// Returns a name for the node that calls a function. Signatures, which functions are named after, may have
/// characters that names of nodes may not.
std::string node_name_of(const std::string& function) {
  std::string name = "intarsia/" + function;
  for (char& c : name)
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 &&
        std::string_view("_./-").find(c) == std::string_view::npos)
      c = '_';
  return name;
}

class PartReplacement {
 public:
  PartReplacement(Body& body, EffectFinder& effects)
      : body_(body),
        effects_(effects),
        names_(body.names()),
        needed_(body.find_needed()),
        numbers_(body.index()) {
    for (const BodyNode& node : body.nodes) note_texts(node);
    for (const BodyReturn& one : body.returns) texts_.try_emplace(one.source, one.text);
    for (const BodyArgument& argument : body.arguments) texts_.try_emplace(argument.name, argument.name);
  }

  Status run(const std::vector<ProgramCall>& calls) {
    for (const ProgramCall& call : calls) TRY(add_call(call));
    redirect();
    TRY(find_live_nodes());
    order_calls(calls);
    TRY(check_order());
    remove_dead_nodes();
    if (!body_.is_function()) keep_result_names();
    return {};
  }

 private:
  void note_texts(const BodyNode& node) {
    size_t number = 0;
    for (const std::string& input : node.def.inputs)
      if (!is_control(input)) texts_.try_emplace(node.sources[number++], input);
  }

  std::string unique_name(const std::string& wanted) {
    std::string name = wanted;
    for (int i = 1; !names_.insert(name).second; ++i) name = fmt::format("{}_{}", wanted, i);
    return name;
  }

  NewTensor output_of(const std::string& node, const char* output, size_t number) const {
    const std::string source = fmt::format("{}:{}", node, number);
    return {body_.is_function() ? fmt::format("{}:{}:{}", node, output, number) : source, source};
  }

  Status add_call(const ProgramCall& call) {
    BodyNode node{{.name = unique_name(node_name_of(call.function)), .op = "Intarsia"}, {}};
    std::vector<int32_t> in, out;
    node.def.inputs.push_back(call.program);
    node.sources.push_back(call.program);
    for (const ExchangedTensor& input : call.inputs) {
      const auto text = texts_.find(input.source);
      if (text == texts_.end()) return fail("no node reads '{}'", input.source);
      node.def.inputs.push_back(text->second);
      node.sources.push_back(input.source);
      in.push_back(input.data_type);
    }
    for (const ExchangedTensor& output : call.outputs) out.push_back(output.data_type);
    node.def.attributes.set("Tin", encode_types(in));
    node.def.attributes.set("Tout", encode_types(out));
    node.def.attributes.set("function", call.function);
    if (call.threads > 0) node.def.attributes.set("threads", int64_t{call.threads});
    const std::string name = node.def.name;
    for (size_t i = 0; i < call.outputs.size(); ++i)
      replace(call.outputs[i].source, add_shape(output_of(name, "outputs", i), call.outputs[i]));
    calls_.push_back(name);
    new_nodes_.push_back(std::move(node));
    return {};
  }

  /// Replaces a tensor, and those that it is a copy of.
  void replace(std::string source, const NewTensor& by) {
    replaced_[source] = by;
    for (size_t hops = 0; hops <= body_.nodes.size(); ++hops) {
      const BodyNode* node = find(node_of(source));
      const auto number = static_cast<size_t>(std::max(parse_reference(source).output, 0));
      if (node == nullptr || !is_alias(node->def.op) || number >= node->sources.size()) return;
      source = node->sources[number];
      replaced_.try_emplace(source, by);
    }
  }

  /// Adds a node that tells TensorFlow the shape of an output, and that can wait where the call cannot.
  NewTensor add_shape(const NewTensor& raw, const ExchangedTensor& output) {
    BodyNode node{{.name = unique_name(node_of(raw.text) + "/shape"),
                   .op = output.shape ? "EnsureShape" : "Identity",
                   .inputs = {raw.text}},
                  {raw.source}};
    node.def.attributes.set("T", encode_type(output.data_type));
    if (output.shape) node.def.attributes.set("shape", encode_shape(output.shape));
    const NewTensor shaped = output_of(node.def.name, "output", 0);
    new_nodes_.push_back(std::move(node));
    return shaped;
  }

  /// Lets nodes that run, and the results, read the calls' outputs.
  void redirect() {
    for (BodyNode& node : body_.nodes)
      if (needed_.contains(node.def.name)) redirect(node);
    for (BodyNode& node : new_nodes_) redirect(node);
    for (BodyReturn& one : body_.returns)
      if (const auto at = replaced_.find(one.source); at != replaced_.end()) {
        one.text = at->second.text;
        one.source = at->second.source;
      }
    for (BodyNode& node : new_nodes_) body_.nodes.push_back(std::move(node));
    numbers_ = body_.index();
  }

  void redirect(BodyNode& node) const {
    size_t number = 0;
    for (std::string& input : node.def.inputs) {
      if (is_control(input)) continue;
      std::string& source = node.sources[number++];
      const auto at = replaced_.find(source);
      if (at == replaced_.end()) continue;
      input = at->second.text;
      source = at->second.source;
    }
  }

  BodyNode* find(const std::string& name) {
    const auto at = numbers_.find(name);
    return at == numbers_.end() ? nullptr : &body_.nodes[at->second];
  }

  /// Finds the nodes that stay: those with effects, those that do not run from here, and what they read.
  Status find_live_nodes() {
    std::vector<std::string> open;
    for (const BodyReturn& one : body_.returns) open.push_back(node_of(one.source));
    for (const BodyArgument& argument : body_.arguments) open.push_back(node_of(argument.name));
    for (const BodyNode& node : body_.nodes) {
      const bool is_new = node.def.bytes.empty() && node.def.op == "Intarsia";
      const bool is_needed = needed_.contains(node.def.name);
      if (body_.kept.contains(node.def.name) ||
          (is_needed ? TRY(effects_.has_effects(node.def)) : !is_new && is_outside(node)))
        open.push_back(node.def.name);
    }
    while (!open.empty()) {
      const std::string name = std::move(open.back());
      open.pop_back();
      const BodyNode* node = find(name);
      if (node == nullptr || !live_.insert(name).second) continue;
      for (const std::string& source : node->sources) open.push_back(node_of(source));
    }
    return {};
  }

  /// Checks for a node of the model's own graph that this body's results do not need, but others may.
  bool is_outside(const BodyNode& node) const { return !body_.is_function() && !node.def.bytes.empty(); }

  /// Adds the live nodes that a node which goes away had to wait for.
  void add_waits(const std::string& name, std::set<std::string>& seen, std::set<std::string>& waits) {
    const BodyNode* node = find(name);
    if (node == nullptr || !seen.insert(name).second) return;
    for (const std::string& input : node->def.inputs) {
      const std::string from = node_of(input);
      if (!live_.contains(from))
        add_waits(from, seen, waits);
      else if (is_control(input))
        waits.insert(from);
    }
  }

  /// Replaces waits for nodes that go away, and gives the calls those of what they replace.
  void order_calls(const std::vector<ProgramCall>& calls) {
    for (const std::string& name : live_) {
      BodyNode& node = *find(name);
      std::set<std::string> waits, seen;
      for (const std::string& input : node.def.inputs) {
        if (!is_control(input)) continue;
        if (live_.contains(node_of(input)))
          waits.insert(node_of(input));
        else
          add_waits(node_of(input), seen, waits);
      }
      waits.erase(name);
      set_waits(node, waits);
    }
    for (size_t i = 0; i < calls.size(); ++i) order_call(*find(calls_[i]), calls[i]);
    for (auto at = body_.control_returns.begin(); at != body_.control_returns.end();)
      at = live_.contains(at->second) ? std::next(at) : body_.control_returns.erase(at);
  }

  static void set_waits(BodyNode& node, const std::set<std::string>& waits) {
    std::erase_if(node.def.inputs, is_control);
    for (const std::string& wait : waits) node.def.inputs.push_back("^" + wait);
  }

  void order_call(BodyNode& node, const ProgramCall& call) {
    std::set<std::string> waits, seen, early, late;
    for (const ExchangedTensor& output : call.outputs)
      if (!live_.contains(node_of(output.source))) add_waits(node_of(output.source), seen, waits);
    for (const std::string& wait : waits)
      (find_awaited({wait}).contains(node.def.name) ? late : early).insert(wait);
    set_waits(node, early);
    if (!late.empty()) order_readers(node.def.name, late);
  }

  /// Lets the readers of a call's outputs wait, except for those that the awaited nodes need.
  void order_readers(const std::string& call, const std::set<std::string>& late) {
    std::set<std::string> first = find_awaited(late);
    first.insert(late.begin(), late.end());
    for (const auto& [old, shaped] : replaced_) {
      BodyNode& shape = *find(node_of(shaped.source));
      if (node_of(shape.sources[0]) != call) continue;
      for (const std::string& name : first) {
        BodyNode* reader = find(name);
        if (reader == nullptr || !live_.contains(name) || reader == &shape) continue;
        std::ranges::replace(reader->def.inputs, shaped.text, shape.def.inputs[0]);
        std::ranges::replace(reader->sources, shaped.source, shape.sources[0]);
      }
      set_waits(shape, late);
    }
  }

  /// Returns all that nodes need or wait for; the nodes themselves only where they do so in a cycle.
  std::set<std::string> find_awaited(const std::set<std::string>& nodes) {
    std::set<std::string> seen;
    std::vector<std::string> open(nodes.begin(), nodes.end());
    while (!open.empty()) {
      const BodyNode* at = find(open.back());
      open.pop_back();
      if (at == nullptr) continue;
      for (const std::string& input : at->def.inputs)
        if (const std::string name = node_of(input); seen.insert(name).second) open.push_back(name);
    }
    return seen;
  }

  /// Checks that no call needs itself, by way of what else stays.
  Status check_order() {
    for (const std::string& call : calls_)
      if (find_awaited({call}).contains(call)) return fail("'{}' would wait for itself", call);
    return {};
  }

  void remove_dead_nodes() {
    std::erase_if(body_.nodes, [&](const BodyNode& node) { return !live_.contains(node.def.name); });
  }

  /// Gives nodes that make results the names under which users know those, where these are free: not where
  /// the old node stays, or made more than the result.
  void keep_result_names() {
    for (BodyReturn& one : body_.returns) {
      const std::string from = node_of(one.source), to = node_of(one.name);
      if (from == to || parse_reference(one.name).output != 0 || body_.index().contains(to)) continue;
      for (BodyNode& node : body_.nodes) {
        if (node.def.name == from) node.def.name = to;
        for (std::string& input : node.def.inputs)
          if (node_of(input) == from) input = (is_control(input) ? "^" : "") + to;
        for (std::string& source : node.sources)
          if (node_of(source) == from) source = to + ":0";
      }
      one.text = one.source = to + ":0";
    }
  }

  Body& body_;
  EffectFinder& effects_;
  std::set<std::string> names_, needed_, live_;
  std::map<std::string, std::string> texts_;   // how sources are written as inputs
  std::map<std::string, NewTensor> replaced_;  // by source
  std::vector<BodyNode> new_nodes_;
  std::vector<std::string> calls_;  // names of their nodes
  std::map<std::string, size_t> numbers_;
};

}  // namespace

Status replace_parts(Body& body, const std::vector<ProgramCall>& calls, EffectFinder& effects) {
  return PartReplacement(body, effects).run(calls);
}

}  // namespace intarsia
