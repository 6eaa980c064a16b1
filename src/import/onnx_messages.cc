#include "import/onnx_messages.h"

#include <algorithm>

#include "base/protobuf.h"
#include "onnx/onnx_fields.h"

namespace intarsia::onnx {
namespace {

using protozero::pbf_reader;

void read_opset(std::string_view bytes, std::map<std::string, int>& opsets) {
  std::string domain;
  int64_t version = 0;
  pbf_reader message = read_message(bytes);
  while (message.next()) {
    if (message.tag() == operator_set::domain)
      domain = message.get_string();
    else if (message.tag() == operator_set::version)
      version = message.get_int64();
    else
      message.skip();
  }
  opsets[domain == "ai.onnx" ? "" : domain] = static_cast<int>(std::clamp<int64_t>(version, 0, 1'000'000));
}

std::string attribute_name(std::string_view bytes) {
  pbf_reader message = read_message(bytes);
  return message.next(attribute::name) ? message.get_string() : std::string();
}

Dim read_dimension(pbf_reader message, bool& has_negative_size) {
  int64_t number = -1;
  std::string symbol;
  while (message.next()) {
    if (message.tag() == dimension::value) {
      number = message.get_int64();
      has_negative_size |= number < 0;
    } else if (message.tag() == dimension::param) {
      symbol = message.get_string();
    } else {
      message.skip();
    }
  }
  if (number >= 0) return number;
  return symbol.empty() ? Dim::unknown() : Dim::named(std::move(symbol));
}

void read_tensor_type(pbf_reader message, NamedType& result) {
  while (message.next()) {
    if (message.tag() == tensor_type::elem_type) {
      const int32_t code = message.get_int32();
      result.type.dtype = code > 0 && code < dtype_count ? static_cast<DType>(code) : DType::undefined;
    } else if (message.tag() == tensor_type::shape) {
      result.type.shape.emplace();
      pbf_reader shape_message = message.get_message();
      while (shape_message.next(shape::dim)) {
        result.type.shape->push_back(read_dimension(shape_message.get_message(), result.has_negative_size));
      }
    } else {
      message.skip();
    }
  }
}

void read_type(std::string_view bytes, NamedType& result) {
  pbf_reader message = read_message(bytes);
  while (message.next()) {
    if (message.tag() == type::tensor_type) {
      read_tensor_type(message.get_message(), result);
    } else if (message.tag() == type::denotation) {
      message.skip();
    } else {
      result.type = {DType::undefined, std::nullopt, true, std::string(bytes)};
      return;
    }
  }
}

}  // namespace

RawModel read_model(std::string_view bytes) {
  RawModel model;
  pbf_reader message = read_message(bytes);
  while (message.next()) {
    switch (message.tag()) {
      case model::ir_version:
        model.ir_version = message.get_int64();
        break;
      case model::opset_import:
        read_opset(read_bytes(message), model.opsets);
        break;
      case model::graph:
        model.graph = read_bytes(message);
        model.has_graph = true;
        break;
      case model::functions:
        model.functions.push_back(read_bytes(message));
        break;
      default:
        message.skip();
    }
  }
  return model;
}

RawGraph read_graph(std::string_view bytes) {
  RawGraph graph;
  pbf_reader message = read_message(bytes);
  while (message.next()) {
    switch (message.tag()) {
      case graph::name:
        graph.name = message.get_string();
        break;
      case graph::node:
        graph.nodes.push_back(read_bytes(message));
        break;
      case graph::initializer:
        graph.initializers.push_back(read_bytes(message));
        break;
      case graph::sparse_initializer:
        graph.sparse_initializers.push_back(read_bytes(message));
        break;
      case graph::input:
        graph.inputs.push_back(read_bytes(message));
        break;
      case graph::output:
        graph.outputs.push_back(read_bytes(message));
        break;
      case graph::value_info:
        graph.value_infos.push_back(read_bytes(message));
        break;
      default:
        message.skip();
    }
  }
  return graph;
}

RawNode read_node(std::string_view bytes) {
  RawNode node;
  pbf_reader message = read_message(bytes);
  while (message.next()) {
    switch (message.tag()) {
      case node::input:
        node.inputs.push_back(message.get_string());
        break;
      case node::output:
        node.outputs.push_back(message.get_string());
        break;
      case node::name:
        node.name = message.get_string();
        break;
      case node::op_type:
        node.op = message.get_string();
        break;
      case node::domain:
        node.domain = message.get_string();
        break;
      case node::overload:
        node.overload = message.get_string();
        break;
      case node::attribute:
        node.attributes.push_back(read_bytes(message));
        break;
      default:
        message.skip();
    }
  }
  if (node.domain == "ai.onnx") node.domain.clear();
  return node;
}

RawFunction read_function(std::string_view bytes) {
  RawFunction function;
  pbf_reader message = read_message(bytes);
  while (message.next()) {
    switch (message.tag()) {
      case function::name:
        function.name = message.get_string();
        break;
      case function::domain:
        function.domain = message.get_string();
        break;
      case function::overload:
        function.overload = message.get_string();
        break;
      case function::input:
        function.inputs.push_back(message.get_string());
        break;
      case function::output:
        function.outputs.push_back(message.get_string());
        break;
      case function::node:
        function.nodes.push_back(read_bytes(message));
        break;
      case function::opset_import:
        read_opset(read_bytes(message), function.opsets);
        break;
      case function::attribute_proto: {
        const std::string_view attribute = read_bytes(message);
        function.default_attributes[attribute_name(attribute)] = attribute;
        break;
      }
      default:
        message.skip();
    }
  }
  return function;
}

std::pair<std::string, std::string> read_string_entry(std::string_view bytes) {
  std::pair<std::string, std::string> entry;
  pbf_reader message = read_message(bytes);
  while (message.next()) {
    if (message.tag() == string_entry::key)
      entry.first = message.get_string();
    else if (message.tag() == string_entry::value)
      entry.second = message.get_string();
    else
      message.skip();
  }
  return entry;
}

NamedType read_value_info(std::string_view bytes) {
  NamedType result;
  pbf_reader message = read_message(bytes);
  while (message.next()) {
    if (message.tag() == value_info::name)
      result.name = message.get_string();
    else if (message.tag() == value_info::type)
      read_type(read_bytes(message), result);
    else
      message.skip();
  }
  return result;
}

}  // namespace intarsia::onnx
