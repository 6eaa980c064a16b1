#include "tensorflow/messages.h"

#include "base/protobuf.h"
#include "base/utf8.h"
#include "tensorflow/attributes.h"
#include "tensorflow/fields.h"
#include "tensorflow/map_entry.h"
#include "tensorflow/tensor_proto.h"

namespace intarsia::tensorflow {
namespace {

using protozero::pbf_reader;
using protozero::pbf_writer;

ArgDef read_argument(pbf_reader message) {
  ArgDef argument;
  while (message.next()) {
    switch (message.tag()) {
      case arg_def::name:
        argument.name = message.get_string();
        break;
      case arg_def::type:
        argument.type = message.get_int32();
        break;
      case arg_def::type_attr:
        argument.type_attribute = message.get_string();
        break;
      case arg_def::number_attr:
        argument.number_attribute = message.get_string();
        break;
      case arg_def::type_list_attr:
        argument.type_list_attribute = message.get_string();
        break;
      default:
        message.skip();
    }
  }
  return argument;
}

void write_argument(pbf_writer& out, uint32_t tag, const ArgDef& argument) {
  pbf_writer message(out, tag);
  message.add_string(arg_def::name, argument.name);
  if (argument.type != 0) message.add_int32(arg_def::type, argument.type);
  if (!argument.type_attribute.empty()) message.add_string(arg_def::type_attr, argument.type_attribute);
  if (!argument.number_attribute.empty()) message.add_string(arg_def::number_attr, argument.number_attribute);
  if (!argument.type_list_attribute.empty())
    message.add_string(arg_def::type_list_attr, argument.type_list_attribute);
}

TensorInfo read_tensor_info(std::string_view bytes) {
  TensorInfo info;
  pbf_reader message = read_message(bytes);
  while (message.next()) {
    switch (message.tag()) {
      case tensor_info::name:
        info.name = message.get_string();
        break;
      case tensor_info::dtype:
        info.data_type = message.get_int32();
        break;
      case tensor_info::tensor_shape:
        info.shape = read_shape(read_bytes(message));
        break;
      case tensor_info::coo_sparse:
      case tensor_info::composite:
        info.is_tensor = false;
        message.skip();
        break;
      default:
        message.skip();
    }
  }
  return info;
}

SignatureDef read_signature(std::string_view bytes) {
  SignatureDef signature;
  pbf_reader message = read_message(bytes);
  while (message.next()) {
    if (message.tag() != signature_def::inputs && message.tag() != signature_def::outputs) {
      message.skip();
      continue;
    }
    auto& list = message.tag() == signature_def::inputs ? signature.inputs : signature.outputs;
    const auto [key, value] = read_entry(message.get_message());
    list[key] = read_tensor_info(value);
  }
  return signature;
}

/// Returns the nodes and tensors that a collection of MetaGraphDef names, by themselves or in VariableDefs.
std::vector<std::string> read_collection(std::string_view collection) {
  std::vector<std::string> names;
  pbf_reader message = read_message(collection);
  while (message.next()) {
    const uint32_t kind = message.tag();
    if (kind != collection_def::node_list && kind != collection_def::bytes_list) {
      message.skip();
      continue;
    }
    pbf_reader list = message.get_message();
    while (list.next(list_of_collection::value)) {
      if (kind == collection_def::node_list) {
        names.push_back(list.get_string());
        continue;
      }
      try {
        pbf_reader variable = list.get_message();
        while (variable.next()) {
          const uint32_t tag = variable.tag();
          if (tag == variable_def::variable || tag == variable_def::initializer ||
              tag == variable_def::snapshot || tag == variable_def::initial_value)
            names.push_back(variable.get_string());
          else
            variable.skip();
        }
      } catch (const protozero::exception&) {
        continue;  // the collection holds something else
      }
    }
  }
  return names;
}

/// Returns the messages that a collection of MetaGraphDef holds.
std::vector<std::string_view> read_messages_of_collection(std::string_view collection) {
  std::vector<std::string_view> messages;
  pbf_reader message = read_message(collection);
  while (message.next(collection_def::any_list)) {
    pbf_reader list = message.get_message();
    while (list.next(list_of_collection::value)) {
      pbf_reader any = list.get_message();
      while (any.next(any_message::value)) messages.push_back(read_bytes(any));
    }
  }
  return messages;
}

Status read_library(pbf_reader message, GraphDef& graph) {
  while (message.next()) {
    if (message.tag() != function_library::function) {
      message.skip();
      continue;
    }
    FunctionDef function = TRY(read_function(read_bytes(message)));
    const std::string name = function.signature.name;
    graph.functions[name] = std::move(function);
  }
  return {};
}

}  // namespace

Result<NodeDef> read_node(std::string_view bytes) {
  NodeDef node;
  node.bytes = bytes;
  std::vector<std::pair<std::string, std::string_view>> attributes;
  pbf_reader message = read_message(bytes);
  while (message.next()) {
    switch (message.tag()) {
      case node_def::name:
        node.name = message.get_string();
        break;
      case node_def::op:
        node.op = message.get_string();
        break;
      case node_def::device:
        node.device = message.get_string();
        break;
      case node_def::input:
        node.inputs.push_back(message.get_string());
        break;
      case node_def::attr:
        attributes.push_back(read_entry(message.get_message()));
        break;
      default:
        message.skip();
    }
  }
  TRY(check_utf8(node.name, "node"));
  TRY(with_context(check_utf8(node.op, "operator"), "node '{}'", node.name));
  for (const std::string& input : node.inputs)
    TRY(with_context(check_utf8(input, "input"), "node '{}'", node.name));
  for (const auto& [name, value] : attributes) {
    TRY(with_context(check_utf8(name, "attribute"), "node '{}'", node.name));
    node.attributes.set(name, TRY(with_context(read_attribute(value), "node '{}' ({}): attribute '{}'",
                                               node.name, node.op, name)));
  }
  return node;
}

Result<std::map<std::string, std::string>> encode_attributes(const Attributes& attributes) {
  std::map<std::string, std::string> encoded;
  for (const Attributes::Entry& entry : attributes) encoded[entry.name] = TRY(write_attribute(entry.value));
  return encoded;
}

std::string write_node(const NodeDef& node, const std::map<std::string, std::string>& encoded_attributes) {
  std::string bytes;
  pbf_writer out(bytes);
  out.add_string(node_def::name, node.name);
  out.add_string(node_def::op, node.op);
  for (const std::string& input : node.inputs) out.add_string(node_def::input, input);
  for (const auto& [name, value] : encoded_attributes) write_entry(out, node_def::attr, name, value);
  return bytes;
}

Result<GraphDef> read_graph(std::string_view bytes) {
  GraphDef graph;
  pbf_reader message = read_message(bytes);
  while (message.next()) {
    if (message.tag() == graph_def::node) {
      graph.nodes.push_back(TRY(read_node(read_bytes(message))));
    } else if (message.tag() == graph_def::library) {
      TRY(read_library(message.get_message(), graph));
    } else if (message.tag() == graph_def::versions) {
      pbf_reader versions = message.get_message();
      while (versions.next()) {
        if (versions.tag() == versions::producer)
          graph.producer = versions.get_int32();
        else
          versions.skip();
      }
    } else {
      message.skip();
    }
  }
  return graph;
}

OpDef read_op(std::string_view bytes) {
  OpDef op;
  pbf_reader message = read_message(bytes);
  while (message.next()) {
    switch (message.tag()) {
      case op_def::name:
        op.name = message.get_string();
        break;
      case op_def::input_arg:
        op.inputs.push_back(read_argument(message.get_message()));
        break;
      case op_def::output_arg:
        op.outputs.push_back(read_argument(message.get_message()));
        break;
      case op_def::is_stateful:
        op.is_stateful = message.get_bool();
        break;
      default:
        message.skip();
    }
  }
  return op;
}

Result<FunctionDef> read_function(std::string_view bytes) {
  FunctionDef function;
  function.bytes = bytes;
  pbf_reader message = read_message(bytes);
  while (message.next()) {
    if (message.tag() == function_def::signature) {
      function.signature = read_op(read_bytes(message));
    } else if (message.tag() == function_def::node) {
      function.nodes.push_back(TRY(read_node(read_bytes(message))));
    } else if (message.tag() == function_def::ret) {
      const auto [name, from] = read_entry(message.get_message());
      function.returns[name] = from;
    } else if (message.tag() == function_def::control_ret) {
      const auto [name, node] = read_entry(message.get_message());
      function.control_returns[name] = node;
    } else {
      message.skip();
    }
  }
  return function;
}

Result<std::optional<FunctionDef>> find_function(std::string_view library, const Attributes& attributes,
                                                 const char* attribute) {
  const AttributeValue* value = attributes.find(attribute);
  const std::vector<std::string> names = value ? get_functions(*value) : std::vector<std::string>();
  pbf_reader message = read_message(library);
  while (names.size() == 1 && message.next()) {
    if (message.tag() != function_library::function) {
      message.skip();
      continue;
    }
    FunctionDef function = TRY(read_function(read_bytes(message)));
    if (function.signature.name == names[0]) return function;
  }
  return std::nullopt;
}

Result<std::string> write_function(const FunctionDef& function) {
  std::string bytes;
  pbf_writer out(bytes);
  std::string_view old_signature;
  pbf_reader old = read_message(function.bytes);
  while (old.next()) {
    if (old.tag() == function_def::signature)
      old_signature = read_bytes(old);
    else if (old.tag() == function_def::attr || old.tag() == function_def::control_ret)
      copy_field(old, out);
    else
      old.skip();
  }
  {
    pbf_writer signature(out, function_def::signature);
    signature.add_string(op_def::name, function.signature.name);
    for (const ArgDef& argument : function.signature.inputs)
      write_argument(signature, op_def::input_arg, argument);
    for (const ArgDef& argument : function.signature.outputs)
      write_argument(signature, op_def::output_arg, argument);
    pbf_reader rest = read_message(old_signature);
    while (rest.next()) {
      if (rest.tag() > op_def::output_arg)
        copy_field(rest, signature);
      else
        rest.skip();
    }
  }
  for (const NodeDef& node : function.nodes) {
    out.add_message(function_def::node, write_node(node, TRY(encode_attributes(node.attributes))));
  }
  for (const auto& [name, from] : function.returns) write_entry(out, function_def::ret, name, from);
  return bytes;
}

MetaGraph read_meta_graph(std::string_view bytes) {
  MetaGraph meta;
  pbf_reader message = read_message(bytes);
  while (message.next()) {
    if (message.tag() == meta_graph::graph_def) {
      meta.graph = read_bytes(message);
    } else if (message.tag() == meta_graph::signature_def) {
      const auto [key, value] = read_entry(message.get_message());
      meta.signatures[key] = read_signature(value);
    } else if (message.tag() == meta_graph::object_graph_def) {
      meta.object_graph = read_bytes(message);
    } else if (message.tag() == meta_graph::saver_def) {
      pbf_reader saver = message.get_message();
      while (saver.next()) {
        if (saver.tag() == saver_def::restore_op_name)
          meta.restore_op = saver.get_string();
        else if (saver.tag() == saver_def::save_tensor_name)
          meta.save_tensor = saver.get_string();
        else
          saver.skip();
      }
    } else if (message.tag() == meta_graph::collection_def) {
      const auto [key, value] = read_entry(message.get_message());
      const std::vector<std::string> names = read_collection(value);
      if ((key == "saved_model_main_op" || key == "legacy_init_op") && !names.empty())
        meta.init_op = names[0];
      if (key == "saved_model_assets") meta.collected_assets = read_messages_of_collection(value);
      meta.collected.insert(meta.collected.end(), names.begin(), names.end());
    } else if (message.tag() == meta_graph::meta_info) {
      pbf_reader info = message.get_message();
      while (info.next()) {
        if (info.tag() == meta_info::tags)
          meta.tags.push_back(info.get_string());
        else
          info.skip();
      }
    } else {
      message.skip();
    }
  }
  return meta;
}

std::vector<MetaGraph> read_saved_model(std::string_view bytes) {
  std::vector<MetaGraph> graphs;
  pbf_reader message = read_message(bytes);
  while (message.next()) {
    if (message.tag() == saved_model::meta_graph)
      graphs.push_back(read_meta_graph(read_bytes(message)));
    else
      message.skip();
  }
  return graphs;
}

}  // namespace intarsia::tensorflow
