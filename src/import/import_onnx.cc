#include "import/import_onnx.h"

#include <algorithm>
#include <filesystem>
#include <stdexcept>
#include <tuple>
#include <unordered_map>

#include "base/bytes.h"
#include "base/protobuf.h"
#include "base/utf8.h"
#include "graph/verify_graph.h"
#include "import/onnx_attributes.h"
#include "import/onnx_fields.h"
#include "import/onnx_messages.h"
#include "import/onnx_subgraph.h"

namespace intarsia {
namespace {

using onnx::RawFunction;
using onnx::RawGraph;
using onnx::RawModel;
using onnx::RawNode;

constexpr int deepest_onnx_call = 32;          // functions that call functions
constexpr size_t most_onnx_nodes = 1'000'000;  // with calls of functions: inlining must not explode

/// What names mean where a node stands: in the model, or in the body of an inlined function.
struct Scope {
  std::string prefix;                                  // of names that the body makes
  std::map<std::string, std::string> names;            // formal inputs and outputs -> names of the call
  std::map<std::string, std::string> call_attributes;  // what ref_attr_name may refer to
  const std::map<std::string, int>* opsets = nullptr;
  int depth = 0;

  std::string resolve(const std::string& name) const {
    if (depth == 0 || name.empty()) return name;
    auto at = names.find(name);
    return at == names.end() ? prefix + name : at->second;
  }
};

class Importer {
 public:
  explicit Importer(TensorSource source) : source_(std::move(source)) {}

  Result<Graph> import(std::string_view bytes) {
    const RawModel model = onnx::read_model(bytes);
    TRY(check_model(model));
    for (std::string_view function_bytes : model.functions) {
      RawFunction function = onnx::read_function(function_bytes);
      auto key = std::make_tuple(function.domain, function.name, function.overload);
      functions_.emplace(std::move(key), std::move(function));
    }
    graph_.opsets = model.opsets;
    const RawGraph raw = onnx::read_graph(model.graph);
    graph_.name = raw.name;
    TRY(check_utf8(graph_.name, "the graph's name"));
    TRY(add_constants(raw));
    TRY(add_inputs(raw));
    Scope scope;
    scope.opsets = &graph_.opsets;
    for (std::string_view node : raw.nodes) TRY(add_node(onnx::read_node(node), scope));
    TRY(add_outputs(raw));
    for (std::string_view info : raw.value_infos) add_known_type(onnx::read_value_info(info));
    TRY(check_all_defined());
    TRY(sort_nodes(graph_));
    return std::move(graph_);
  }

 private:
  static Status check_model(const RawModel& model) {
    if (!model.has_graph) return fail("is no ONNX model: it has no graph");
    if (model.ir_version > onnx::newest_ir_version) {
      return fail(ErrorKind::version, "has ONNX IR version {}, this Intarsia reads up to {}",
                  model.ir_version, onnx::newest_ir_version);
    }
    for (const auto& [domain, version] : model.opsets) {
      if (domain.empty() && (version < onnx::oldest_opset || version > onnx::newest_opset)) {
        return fail(ErrorKind::version,
                    "has opset {}, this Intarsia reads {} to {}; convert it with onnx.version_converter",
                    version, onnx::oldest_opset, onnx::newest_opset);
      }
    }
    return {};
  }

  /// Before a text of the node is part of a message.
  static Status check_names(const RawNode& raw, size_t number) {
    const std::string node = fmt::format("node number {}", number);
    TRY(check_utf8(raw.name, node + ": its name"));
    for (const std::string& op : {raw.op, raw.domain, raw.overload})
      TRY(check_utf8(op, node + ": its operator"));
    for (const std::string& input : raw.inputs) TRY(check_utf8(input, node + ": its input"));
    for (const std::string& output : raw.outputs) TRY(check_utf8(output, node + ": its output"));
    return {};
  }

  static Status check_names(const onnx::NamedType& port, const char* what) {
    TRY(check_utf8(port.name, what));
    if (!port.type.shape) return {};
    for (const Dim& dim : *port.type.shape)
      TRY(check_utf8(dim.symbol, fmt::format("{} '{}': its size", what, port.name)));
    return {};
  }

  ValueId find_or_add(const std::string& name) {
    auto [at, is_new] = ids_.try_emplace(name, no_value);
    if (is_new) at->second = graph_.add_value(name);
    return at->second;
  }

  Status define(ValueId id, const char* what) {
    if (defined_.size() < graph_.values.size()) defined_.resize(graph_.values.size(), false);
    if (defined_[index(id)]) return fail("{} '{}' is defined twice", what, graph_.value(id).name);
    defined_[index(id)] = true;
    return {};
  }

  Status add_constant(const std::string& name, Tensor tensor) {
    TRY(check_utf8(name, "constant"));
    const ValueId id = find_or_add(name);
    TRY(define(id, "constant"));
    graph_.value(id).type = ValueType{tensor.dtype(), to_symbolic(tensor.shape()), false, {}};
    graph_.value(id).constant = std::move(tensor);
    return {};
  }

  Status add_constants(const RawGraph& raw) {
    for (std::string_view bytes : raw.initializers) {
      std::string name;
      Tensor tensor = TRY(read_onnx_tensor(bytes, source_, &name));
      TRY(add_constant(name, std::move(tensor)));
    }
    for (std::string_view bytes : raw.sparse_initializers) {
      std::string name;
      Tensor tensor = TRY(read_onnx_sparse_tensor(bytes, source_, &name));
      TRY(add_constant(name, std::move(tensor)));
    }
    return {};
  }

  /// An initializer that is also listed as an input is a constant: its default is the only value we know.
  Status add_inputs(const RawGraph& raw) {
    for (std::string_view bytes : raw.inputs) {
      onnx::NamedType input = onnx::read_value_info(bytes);
      TRY(check_names(input, "input"));
      const ValueId id = find_or_add(input.name);
      if (graph_.value(id).constant) continue;
      TRY(define(id, "input"));
      if (input.name.empty()) return fail("has an input without a name");
      if (!input.type.opaque && input.type.dtype == DType::undefined)
        return fail("input '{}' has no known element type", input.name);
      if (input.has_negative_size)
        return fail("input '{}' has a negative size in its shape {}", input.name,
                    print_shape(*input.type.shape));
      name_open_sizes(input.name, input.type);
      graph_.value(id).type = std::move(input.type);
      graph_.inputs.push_back(id);
    }
    return {};
  }

  static void name_open_sizes(const std::string& name, ValueType& type) {
    if (!type.shape) return;
    for (size_t axis = 0; axis < type.shape->size(); ++axis) {
      Dim& dim = (*type.shape)[axis];
      if (!dim.is_number() && !dim.is_named()) dim = Dim::named(fmt::format("{}_dim{}", name, axis));
    }
  }

  Status add_outputs(const RawGraph& raw) {
    for (std::string_view bytes : raw.outputs) {
      onnx::NamedType output = onnx::read_value_info(bytes);
      TRY(check_names(output, "output"));
      auto at = ids_.find(output.name);
      if (at == ids_.end()) return fail("output '{}' is made by no node", output.name);
      if (std::ranges::find(graph_.outputs, at->second) != graph_.outputs.end())
        return fail("output '{}' is listed twice; give each output a value of its own (an Identity of it)",
                    output.name);
      graph_.outputs.push_back(at->second);
      add_known_type(std::move(output));
    }
    if (graph_.outputs.empty()) return fail("has no outputs");
    return {};
  }

  /// The model's own claim about a value's type, kept until shape inference knows better.
  void add_known_type(onnx::NamedType known) {
    auto at = ids_.find(known.name);
    if (at == ids_.end() || !check_names(known, "value")) return;
    Value& value = graph_.value(at->second);
    if (value.constant || value.producer == no_node || value.type != ValueType{}) return;
    value.type = std::move(known.type);
  }

  Status check_all_defined() {
    defined_.resize(graph_.values.size(), false);
    for (const Node& node : graph_.nodes) {
      for (ValueId read : values_read(node)) {
        if (!defined_[index(read)])
          return fail("node '{}' ({}) reads '{}', which nothing makes", node.name, node.op,
                      graph_.value(read).name);
      }
    }
    for (ValueId output : graph_.outputs) {
      if (!defined_[index(output)]) return fail("output '{}' is made by no node", graph_.value(output).name);
    }
    return {};
  }

  Status add_node(const RawNode& raw, const Scope& scope) {
    if (graph_.nodes.size() + calls_ > most_onnx_nodes)
      return fail("has over {} nodes after its functions are inlined", most_onnx_nodes);
    TRY(check_names(raw, graph_.nodes.size()));
    const std::string name =
        scope.prefix + (!raw.name.empty() || raw.outputs.empty() ? raw.name : raw.outputs[0]);
    return with_context(add_named_node(raw, scope, name), "node '{}' ({})", name, raw.op);
  }

  Status add_named_node(const RawNode& raw, const Scope& scope, const std::string& name) {
    auto function = functions_.find(std::make_tuple(raw.domain, raw.op, raw.overload));
    if (function != functions_.end()) return inline_function(raw, function->second, scope, name);
    Node node;
    node.name = name;
    node.op = raw.op;
    node.domain = raw.domain;
    auto opset = scope.opsets->find(raw.domain);
    if (opset == scope.opsets->end() && raw.domain.empty())
      return fail("the model imports no version of the standard operators");
    node.version = opset == scope.opsets->end() ? 1 : opset->second;
    graph_.opsets.try_emplace(raw.domain, node.version);
    for (std::string_view bytes : raw.attributes) TRY(add_attribute(bytes, scope, node));
    if (node.op == "Constant" && node.domain.empty()) return add_constant_node(node, raw, scope);
    for (const std::string& input : raw.inputs) {
      const std::string resolved = scope.resolve(input);
      node.inputs.push_back(resolved.empty() ? no_value : find_or_add(resolved));
    }
    for (const std::string& output : raw.outputs) {
      const std::string resolved = scope.resolve(output);
      node.outputs.push_back(resolved.empty() ? no_value : find_or_add(resolved));
      if (!resolved.empty()) TRY(define(node.outputs.back(), "value"));
    }
    graph_.add_node(std::move(node));
    return {};
  }

  Status add_attribute(std::string_view bytes, const Scope& scope, Node& node) {
    NamedAttribute attribute = TRY(read_onnx_attribute(bytes, source_));
    TRY(check_utf8(attribute.name, "attribute"));
    std::string changed;
    if (!attribute.refers_to.empty()) {
      auto at = scope.call_attributes.find(attribute.refers_to);
      if (at == scope.call_attributes.end()) return {};  // the call leaves an optional attribute out
      changed = rename_attribute(at->second, attribute.name);
      attribute = TRY(read_onnx_attribute(changed, source_));
    }
    if (auto* encoded = std::get_if<EncodedAttribute>(&attribute.value)) {
      if (scope.depth > 0) {
        SubgraphChanges changes{{}, scope.call_attributes};
        for (const std::string& captured : find_captured_names(encoded->bytes))
          changes.names[captured] = scope.resolve(captured);
        encoded->bytes = rewrite_subgraphs(encoded->bytes, changes);
      }
      for (const std::string& captured : find_captured_names(encoded->bytes)) {
        TRY(check_utf8(captured, "its sub-graph's value"));
        const ValueId id = find_or_add(captured);
        if (std::ranges::find(node.captures, id) == node.captures.end()) node.captures.push_back(id);
      }
    }
    node.attributes.set(std::move(attribute.name), std::move(attribute.value));
    return {};
  }

  Status add_constant_node(const Node& node, const RawNode& raw, const Scope& scope) {
    if (raw.outputs.size() != 1 || node.attributes.size() != 1)
      return fail("wants one output and one attribute");
    return add_constant(scope.resolve(raw.outputs[0]), TRY(constant_of(*node.attributes.begin())));
  }

  Result<Tensor> constant_of(const Attributes::Entry& entry) {
    const auto from_list = [](DType dtype, const auto& list, bool scalar) {
      using T = std::remove_cvref_t<decltype(list[0])>;
      Tensor tensor(dtype, scalar ? Shape{} : Shape{static_cast<int64_t>(list.size())});
      std::ranges::copy(list, tensor.as<T>().begin());
      return tensor;
    };
    if (auto* tensor = std::get_if<Tensor>(&entry.value)) return *tensor;
    if (auto* list = std::get_if<std::vector<float>>(&entry.value))
      return from_list(DType::f32, *list, false);
    if (auto* list = std::get_if<std::vector<int64_t>>(&entry.value))
      return from_list(DType::i64, *list, false);
    if (auto* list = std::get_if<std::vector<std::string>>(&entry.value))
      return from_list(DType::string, *list, false);
    if (auto* one = std::get_if<float>(&entry.value))
      return from_list(DType::f32, std::vector<float>{*one}, true);
    if (auto* one = std::get_if<int64_t>(&entry.value))
      return from_list(DType::i64, std::vector<int64_t>{*one}, true);
    if (auto* one = std::get_if<std::string>(&entry.value))
      return from_list(DType::string, std::vector<std::string>{*one}, true);
    return read_sparse_attribute(std::get<EncodedAttribute>(entry.value));
  }

  Result<Tensor> read_sparse_attribute(const EncodedAttribute& attribute) {
    protozero::pbf_reader message(attribute.bytes);
    if (!message.next(onnx::attribute::sparse_tensor)) return fail("has no value");
    const protozero::data_view view = message.get_view();
    return read_onnx_sparse_tensor({view.data(), view.size()}, source_);
  }

  Status inline_function(const RawNode& call, const RawFunction& function, const Scope& caller,
                         const std::string& name) {
    if (caller.depth >= deepest_onnx_call)
      return fail("functions call each other more than {} deep", deepest_onnx_call);
    Scope scope;
    scope.depth = caller.depth + 1;
    scope.prefix = fmt::format("{}#{}/", name, calls_++);
    scope.opsets = &function.opsets;
    for (size_t i = 0; i < function.inputs.size(); ++i) {
      scope.names[function.inputs[i]] = i < call.inputs.size() ? caller.resolve(call.inputs[i]) : "";
    }
    TRY(collect_call_attributes(call, function, caller, scope));
    std::vector<std::pair<std::string, std::string>> passed;  // outputs that are inputs of the function
    for (size_t i = 0; i < function.outputs.size() && i < call.outputs.size(); ++i) {
      if (call.outputs[i].empty()) continue;
      const std::string target = caller.resolve(call.outputs[i]);
      auto [at, is_new] = scope.names.try_emplace(function.outputs[i], target);
      if (!is_new) passed.emplace_back(at->second, target);
    }
    for (std::string_view node : function.nodes) TRY(add_node(onnx::read_node(node), scope));
    for (const auto& [from, to] : passed) TRY(add_identity(from, to));
    return {};
  }

  Status collect_call_attributes(const RawNode& call, const RawFunction& function, const Scope& caller,
                                 Scope& scope) {
    for (const auto& [name, bytes] : function.default_attributes)
      scope.call_attributes[name] = std::string(bytes);
    for (std::string_view bytes : call.attributes) {
      const NamedAttribute attribute = TRY(read_onnx_attribute(bytes, source_));
      if (attribute.refers_to.empty()) {
        scope.call_attributes[attribute.name] = std::string(bytes);
      } else if (auto at = caller.call_attributes.find(attribute.refers_to);
                 at != caller.call_attributes.end()) {
        scope.call_attributes[attribute.name] = rename_attribute(at->second, attribute.name);
      }
    }
    return {};
  }

  Status add_identity(const std::string& from, const std::string& to) {
    Node node{to, "Identity",
              "", graph_.opsets.contains("") ? graph_.opsets[""] : static_cast<int>(onnx::newest_opset),
              {}, {},
              {}, {}};
    node.inputs = {find_or_add(from)};
    node.outputs = {find_or_add(to)};
    TRY(define(node.outputs[0], "value"));
    graph_.add_node(std::move(node));
    return {};
  }

  TensorSource source_;
  Graph graph_;
  std::unordered_map<std::string, ValueId> ids_;
  std::vector<bool> defined_;
  std::map<std::tuple<std::string, std::string, std::string>, RawFunction> functions_;
  size_t calls_ = 0;
};

Result<Graph> import_bytes(std::string_view bytes, TensorSource source) {
  try {
    Graph graph = TRY(Importer(std::move(source)).import(bytes));
    TRY(verify_graph(graph));
    return graph;
  } catch (const protozero::exception& error) {
    return fail("is no valid ONNX model: damaged protobuf ({})", error.what());
  } catch (const std::length_error& error) {
    return fail("{}", error.what());
  } catch (const std::bad_alloc&) {
    return fail(ErrorKind::out_of_memory, "does not fit in memory");
  }
}

}  // namespace

Result<Graph> import_onnx(const std::string& path) {
  const MappedFile file = TRY(map_file(path));
  TensorSource source{file.owner, std::filesystem::path(path).parent_path().string(), {}};
  if (source.folder.empty()) source.folder = ".";
  return with_context(import_bytes(as_text(file.bytes), std::move(source)), "model '{}'", path);
}

Result<Graph> import_onnx_bytes(std::string_view bytes) {
  return with_context(import_bytes(bytes, {}), "model");
}

}  // namespace intarsia
